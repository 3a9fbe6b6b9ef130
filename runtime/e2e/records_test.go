package e2e

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

type records struct {
	Now     int64
	Records []struct {
		Ms             int64
		Level, Message string
		Pid            int
	}
}

func (d *daemon) records(from int64) records {
	d.t.Helper()
	got := d.request("GET", "/records?from="+strconv.FormatInt(from, 10), nil, nil)
	var all records
	if err := json.Unmarshal([]byte(got.body), &all); err != nil || got.status != 200 {
		d.t.Fatalf("the answer is %d %s", got.status, got.body)
	}
	return all
}

func (r records) String() string {
	said := []string{}
	for _, each := range r.Records {
		said = append(said, each.Level+" "+each.Message)
	}
	return strings.Join(said, "\n")
}

func TestRecordsWhatProcessesDoAndPrintWithoutTheirVariables(t *testing.T) {
	d := serve(t)
	d.init(nil, `{"envVars":{"OF_INIT":"hidden-a"}}`)
	s, pid := d.begin(`{"process":{"cmd":"/bin/sh","args":["-c","echo out; exit 3"],"envs":{"OF_REQUEST":"hidden-b"}}}`, nil)
	s.collect()
	// What a client has seen the end of is recorded.
	got := d.records(0)
	want := "info started: /bin/sh -c \"echo out; exit 3\"\ninfo out\nwarn ended: exit status 3"
	expect(t, "records", got.String(), want)
	expect(t, "pid", fmt.Sprint(got.Records[1].Pid), strconv.Itoa(pid))
	d.execute(`{"command":"echo err >&2"}`)
	expect(t, "records with those of the agent-sandbox API", d.records(0).String(), want+"\ninfo started: /bin/sh -c \"echo err >&2\"\nerror err\ninfo ended: exit status 0")
	if whole := fmt.Sprint(d.records(0)); strings.Contains(whole, "hidden") {
		t.Errorf("the records have a variable: %s", whole)
	}
}

func TestAProcessWithoutAClientIsRecorded(t *testing.T) {
	d := serve(t)
	s, pid := d.begin(`{"process":{"cmd":"/bin/sh","args":["-c","read line; echo late"]}}`, nil)
	s.close()
	if said := d.records(0).String(); strings.Contains(said, "info late") {
		t.Fatalf("too early: %s", said)
	}
	d.must("process.Process/SendInput", `{`+byPid(pid)+`,"input":{"stdin":"`+b64("go\n")+`"}}`)
	eventually(t, "its output is recorded", func() bool { return strings.HasSuffix(d.records(0).String(), "info late\ninfo ended: exit status 0") })
}

func TestRecordsNeedTheToken(t *testing.T) {
	d := serve(t)
	d.init(nil, `{"accessToken":"token"}`)
	expect(t, "without it", strconv.Itoa(d.request("GET", "/records", nil, nil).status), "401")
	d.token = "token"
	expect(t, "with it", d.records(0).String(), "")
	expect(t, "another method", strconv.Itoa(d.request("POST", "/records", nil, nil).status), "405")
}

func TestWritesRecordsIntoTheLogOfTheContainerWhereTheSettingsSaySo(t *testing.T) {
	d := serve(t, "SANDLOT_RECORDS=log", "SANDLOT_SANDBOX_UID=uid-1")
	s, pid := d.begin(`{"process":{"cmd":"/bin/sh","args":["-c","echo out; exit 3"]}}`, nil)
	s.collect()
	const tag = "54698a0f872eead6"
	want := fmt.Sprintf("[process %d start info %s] started: /bin/sh -c \"echo out; exit 3\"\n[process %d stdout info %s] out\n[process %d end warn %s] ended: exit status 3\n",
		pid, tag, pid, tag, pid, tag)
	eventually(t, "the log has them", func() bool { return strings.Contains(d.said.String(), want) })
	expect(t, "records that it keeps", d.records(0).String(), "")
}

func TestKeepsRecordsWhereItCannotWriteToTheLogOfTheContainer(t *testing.T) {
	i := imageWithAccounts(t)
	c := i.start([]string{"SANDLOT_RECORDS=log", "SANDLOT_SANDBOX_UID=uid-1"}, "sh", "-c", installed+" serve 2> /dev/null")
	c.awaitHealth()
	c.run("echo out")
	if said := c.records(0).String(); !strings.Contains(said, "info out") {
		t.Errorf("the records are %s", said)
	}
}
