package load

import "testing"

func TestContestScore(t *testing.T) {
	tests := []struct {
		seconds []int64
		want    float64
		ok      bool
		best    int64
	}{
		{nil, 0, false, 0},
		{[]int64{900, 10}, 0, false, 900},
		{[]int64{900, 10, 700}, 700, true, 900},
		{[]int64{5, 5, 5, 5}, 5, true, 5},
		{[]int64{100, 200, 300, 400, 500, 600}, 350, true, 600},
		{[]int64{100, 900, 200, 800, 300, 700, 400, 600, 500}, 600, true, 900}, // top five of 200..800
	}
	for _, test := range tests {
		got, ok := contestScore(test.seconds)
		if got != test.want || ok != test.ok {
			t.Errorf("contestScore(%v) = %v, %v, want %v, %v", test.seconds, got, ok, test.want, test.ok)
		}
		if best := BestSecond(test.seconds); best != test.best {
			t.Errorf("bestSecond(%v) = %d, want %d", test.seconds, best, test.best)
		}
	}
}
