package catalog

import (
	"encoding/binary"
	"testing"

	"flashsale/internal/testkit"
)

// FuzzImage holds view to: no panic, and an image that is accepted is divided into its parts without a
// byte left over or read twice. The seeds are whole images, so that the fuzzer gets behind the header.
func FuzzImage(f *testing.F) {
	for _, cfg := range []Config{builtInConfig(1), builtInConfig(3),
		{Users: 2, Foods: 1, Stock: 0, RootPassword: "r"}} {
		image := mustLoad(f, cfg).image
		f.Add(image)
		f.Add(image[:len(image)-1])
		f.Add(image[:headerBytes])
	}
	testkit.AddSeeds[[]byte](f)
	f.Fuzz(func(t *testing.T, image []byte) {
		catalog, err := view(image)
		if err != nil {
			return
		}
		l := catalog.layout
		records, rows, slots := l.records(image), l.foodRows(image)[:foodBytes*int(l.foods)], l.slots(image)
		if headerBytes+len(records)+len(rows)+len(slots) != len(image) ||
			len(slots) < slotBytes*slotsPerUser*catalog.Users() {
			t.Errorf("image of %d bytes has %d of records, %d of foods, %d of slots", len(image), len(records),
				len(rows), len(slots))
		}
		if len(catalog.Foods()) != int(l.foods) || catalog.Users() < 1 || len(catalog.Fingerprint()) != 16 {
			t.Errorf("%d foods, %d users, fingerprint %q", len(catalog.Foods()), catalog.Users(),
				catalog.Fingerprint())
		}
		for i, food := range catalog.Foods() {
			if food.ID != int64(i+1) || uint64(food.Stock) != binary.LittleEndian.Uint64(rows[foodBytes*i:]) {
				t.Errorf("food %d is read as %+v", i+1, food)
			}
		}
	})
}
