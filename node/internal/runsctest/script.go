package runsctest

// PodUID is that of the Pod of Script.
const PodUID = "0f8fad5b-d9cb-469f-a165-70867728950e"

// Script stands for gVisor where a test is about something else. It runs one Pod, team/analyst-1 with UID PodUID. Files beside
// it steer it: .state has the status of the Pod, .usage the answer to usage, .gate is a pipe that a checkpoint waits for after
// it left .waiting, and with .broken a checkpoint fails.
const Script = `#!/bin/sh
state="$0.state"
for last; do :; done
for verb; do case "$verb" in --version|cpu-features|list|usage|pause|resume|checkpoint) break ;; esac; done
case $verb in
--version) printf 'runsc version 1\nspec: 1.2.0\n' ;;
cpu-features) echo sse,avx ;;
list) printf '[{"id":"pause-1","status":"%s","annotations":{"io.kubernetes.cri.container-type":"sandbox","io.kubernetes.cri.sandbox-namespace":"team","io.kubernetes.cri.sandbox-name":"analyst-1","io.kubernetes.cri.sandbox-uid":"0f8fad5b-d9cb-469f-a165-70867728950e"}}]' "$(cat $state 2>/dev/null || echo running)" ;;
usage) cat "$0.usage" 2>/dev/null || echo '{"Total": 4096}' ;;
pause) echo paused > $state ;;
resume) echo running > $state ;;
checkpoint)
	if [ -e "$0.gate" ]; then touch "$0.waiting"; read line < "$0.gate"; fi
	for arg; do if [ "$before" = --image-path ]; then folder=$arg; fi; before=$arg; done
	if [ -e "$0.broken" ]; then echo "no memory" >&2; exit 1; fi
	mkdir -p $folder && echo memory > $folder/pages.img ;;
esac
`
