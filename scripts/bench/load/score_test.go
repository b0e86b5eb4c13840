package load

import "testing"

func TestContestScore(t *testing.T) {
	tests := []struct {
		seconds []int64
		want    float64
		ok      bool
	}{
		{nil, 0, false},
		{[]int64{900, 10}, 0, false},
		{[]int64{900, 10, 700}, 700, true},
		{[]int64{5, 5, 5, 5}, 5, true},
		{[]int64{100, 200, 300, 400, 500, 600}, 350, true},
		{[]int64{100, 900, 200, 800, 300, 700, 400, 600, 500}, 600, true}, // top five of 200..800
	}
	for _, test := range tests {
		got, ok := contestScore(test.seconds)
		if got != test.want || ok != test.ok {
			t.Errorf("contestScore(%v) = %v, %v, want %v, %v", test.seconds, got, ok, test.want, test.ok)
		}
	}
}
