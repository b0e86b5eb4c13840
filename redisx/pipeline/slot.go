package pipeline

import "strings"

// Slots is the number of hash slots of a cluster.
const Slots = 16384

// Slot returns the hash slot of a key: CRC16 (XMODEM) of its hash tag, or of the whole key, as the
// specification of Redis Cluster says.
func Slot(key string) int {
	if _, behind, found := strings.Cut(key, "{"); found {
		if tag, _, ends := strings.Cut(behind, "}"); ends && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			crc = crc<<1 ^ crc>>15*0x1021
		}
	}
	return int(crc) % Slots
}
