package main

import (
	"encoding/hex"
	"net"
	"net/netip"
	"testing"
)

func TestAnAnnouncementAsksForTheOwnAddress(t *testing.T) {
	hardware := net.HardwareAddr{0x02, 0x42, 0x0a, 0, 0, 0x07}
	got := hex.EncodeToString(buildAnnouncement(hardware, netip.MustParseAddr("10.244.0.7")))
	want := "0001" + "0800" + "06" + "04" + "0001" + "02420a000007" + "0af40007" + "000000000000" + "0af40007"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
