module sandlot.dev/node

go 1.26.8
