package turnover

import (
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
	"flashsale/redisx/saletest"
)

func TestNumberTexts(t *testing.T) {
	cfg := saletest.Config(redistest.Start(t))
	l, err := pipeline.Dial(t.Context(), cfg.Config)
	testkit.Must(t, err)
	defer l.Close()
	for _, count := range []int{0, 1, numbersText, numbersText + 1, numbersText * (numbersPage + 1)} {
		list := make([]int64, count)
		for i := range list {
			list[i] = int64(i) * 1_000_000_000_000
		}
		saletest.Command(t, cfg, nil, "DEL", "numbers")
		if texts := numberTexts(list); len(texts) > 0 {
			saletest.Command(t, cfg, nil, append([]string{"RPUSH", "numbers"}, texts...)...)
		}
		got, err := readNumbers(l, "numbers", cfg.Timeout)
		if err != nil || !slices.Equal(got, list) {
			t.Errorf("%d numbers: %d are read, %v", count, len(got), err)
		}
	}
	saletest.Command(t, cfg, nil, "RPUSH", "numbers", "1,x")
	if _, err := readNumbers(l, "numbers", cfg.Timeout); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("a text that is no number: %v", err)
	}
}
