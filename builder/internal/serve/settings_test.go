package serve

import (
	"fmt"
	"strings"
	"testing"
)

func TestReadsSettingsFromFlagsAndVariables(t *testing.T) {
	variables := map[string]string{
		"SANDLOT_IMAGE_REGISTRY": "docker.io/builds/", "SANDLOT_IMAGE_TENANT_REGISTRIES": "docker.io,*.test", "SANDLOT_IMAGE_PRIVATE_ADDRESSES": "10.1.2.3/16",
		"SANDLOT_IMAGE_LAYER_BYTES": "5", "SANDLOT_IMAGE_OPERATIONS": "3",
	}
	s, err := ReadSettings([]string{"-operations=4"}, func(name string) string { return variables[name] })
	if err != nil {
		t.Fatal(err)
	}
	host, prefix := s.registry()
	got := fmt.Sprint(host, " ", prefix, s.Policy.Registries, s.Policy.Private, s.Images.LayerBytes, s.API.Operations)
	if want := "index.docker.io builds[docker.io *.test] [10.1.0.0/16] 5 4"; got != want {
		t.Errorf("the settings are %s, want %s", got, want)
	}
}

func TestRefusesSettings(t *testing.T) {
	for _, row := range []string{"", "-registry=x/y -operations=0", "-registry=x -tenant-registries=a/b", "-registry=x -private-addresses=10.0.0.1", "-registry=x -file-bytes=-1", "-registry=/x"} {
		if _, err := ReadSettings(strings.Fields(row), func(string) string { return "" }); err == nil {
			t.Errorf("%q is taken", row)
		}
	}
}
