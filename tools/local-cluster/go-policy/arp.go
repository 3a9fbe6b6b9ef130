package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// announceAddress sends an ARP announcement (RFC 5227) for the address from the link. Pods get the addresses of earlier Pods
// again, and without the announcement their neighbours would send to the hardware address of the earlier Pod for many seconds.
func announceAddress(link string, address netip.Addr) error {
	device, err := net.InterfaceByName(link)
	if err != nil {
		return err
	}
	packets, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening a packet socket on %s: %w", link, err)
	}
	defer unix.Close(packets)
	everyone := unix.SockaddrLinklayer{
		Protocol: toNetworkOrder(unix.ETH_P_ARP),
		Ifindex:  device.Index,
		Halen:    6,
		Addr:     [8]uint8{0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	}
	if err := unix.Sendto(packets, buildAnnouncement(device.HardwareAddr, address), 0, &everyone); err != nil {
		return fmt.Errorf("announcing %s on %s: %w", address, link, err)
	}
	return nil
}

const arpRequest = 1

// buildAnnouncement builds an ARP request in which the sender asks for its own IPv4 address.
func buildAnnouncement(hardware net.HardwareAddr, address netip.Addr) []byte {
	packet := binary.BigEndian.AppendUint16(nil, unix.ARPHRD_ETHER)
	packet = binary.BigEndian.AppendUint16(packet, unix.ETH_P_IP)
	packet = append(packet, 6, 4)
	packet = binary.BigEndian.AppendUint16(packet, arpRequest)
	packet = append(packet, hardware...)
	packet = append(packet, address.AsSlice()...)
	packet = append(packet, make([]byte, 6)...)
	return append(packet, address.AsSlice()...)
}

func toNetworkOrder(value uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, value))
}
