package e2e

import (
	"strings"
	"testing"
)

// inspect shows as whom the kernel lets read the daemon, PID 1 and a program that the daemon started.
const inspect = `for p in /proc/[0-9]*; do
  case "$(tr '\0' ' ' <$p/cmdline)" in *" serve ") stat -c "daemon %u" $p/mem; cat $p/environ 2>/dev/null;; esac
done
stat -c "others %u" /proc/1/mem /proc/self/mem
cat /proc/self/oom_score_adj
grep "Max core" /proc/self/limits`

func TestNoProgramOfTheSameUserAndNoCoreDumpGetsTheMemoryOfTheDaemon(t *testing.T) {
	c := imageWithAccounts(t).start(nil, "busybox", "su", "user", "-c", "exec "+installed+" run -- sleep 3600")
	c.awaitHealth()
	limits := ""
	for line := range strings.Lines(content(t, "/proc/self/limits")) {
		if strings.HasPrefix(line, "Max core") {
			limits = line
		}
	}
	got := c.run(inspect).stdout
	expect(t, "owners, the score of a program and its limit", got, "daemon 0\nothers 1000\nothers 1000\n100\n"+limits)
}
