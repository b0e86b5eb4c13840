package compare

import "testing"

func TestSpread(t *testing.T) {
	tests := []struct {
		numbers []float64
		want    Spread
	}{
		{[]float64{3}, Spread{3, 3, 3}},
		{[]float64{4, 1}, Spread{2.5, 1, 4}},
		{[]float64{9, 1, 5}, Spread{5, 1, 9}},
		{[]float64{8, 2, 4, 1}, Spread{3, 1, 8}},
	}
	for _, test := range tests {
		if got := NewSpread(test.numbers); got != test.want {
			t.Errorf("newSpread(%v) = %v, want %v", test.numbers, got, test.want)
		}
	}
}

// The machine is twice as slow in the second round, for both: the ratio does not change.
func TestRatioIsByRound(t *testing.T) {
	cost := func(total float64) Trial { return Trial{CPU: OrderCPU{Total: total}} }
	base := []Trial{cost(40), cost(80), cost(50)}
	side := []Trial{cost(60), cost(120), cost(100)}
	if got, want := ratio(side, base, func(t Trial) float64 { return t.CPU.Total }),
		(Spread{1.5, 1.5, 2}); got != want {
		t.Errorf("ratio = %v, want %v", got, want)
	}
}
