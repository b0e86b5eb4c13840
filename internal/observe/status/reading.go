package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	replyMax = 16 << 20 // bytes of /metrics
	readMax  = 5 * time.Second
)

// client asks servers directly: they are on a private network, where a proxy has no business.
var client = &http.Client{Transport: &http.Transport{}}

// reading is what the metrics of one server were at one moment.
type reading struct {
	at       time.Time
	families map[string]*dto.MetricFamily
}

// read asks a server for its metrics.
func read(ctx context.Context, address string) (*reading, error) {
	ctx, cancel := context.WithTimeout(ctx, readMax)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", "http://"+address+"/metrics", nil)
	if err != nil {
		return nil, fmt.Errorf("cannot read metrics: %w", err)
	}
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	at := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return nil, errors.Unwrap(err) // without the URL
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/metrics is answered %s", response.Status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(response.Body, replyMax))
	if err != nil {
		return nil, fmt.Errorf("cannot read metrics: %w", err)
	}
	r := &reading{at, families}
	if _, found := r.value("flashsale_start_time_seconds"); !found {
		return nil, errors.New("cannot read metrics: they are not those of flashsale")
	}
	return r, nil
}

// each calls a function with each series of a counter or a gauge.
func (r *reading) each(name string, do func(labels map[string]string, value float64)) {
	for _, metric := range r.families[name].GetMetric() {
		labels := map[string]string{}
		for _, pair := range metric.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		// One of the three is there.
		do(labels, metric.GetGauge().GetValue()+metric.GetCounter().GetValue()+metric.GetUntyped().GetValue())
	}
}

// value adds up all series of a counter or a gauge, and reports whether there is one.
func (r *reading) value(name string) (sum float64, found bool) {
	r.each(name, func(_ map[string]string, value float64) { sum, found = sum+value, true })
	return sum, found
}

// sum is value for what is 0 where it is missing.
func (r *reading) sum(name string) float64 {
	sum, _ := r.value(name)
	return sum
}

// by adds up the series by the value of a label.
func (r *reading) by(name, label string) map[string]float64 {
	sums := map[string]float64{}
	r.each(name, func(labels map[string]string, value float64) { sums[labels[label]] += value })
	return sums
}

// label is the value of a label of a family with one series, "" where there is none.
func (r *reading) label(name, label string) (value string) {
	r.each(name, func(labels map[string]string, _ float64) { value = labels[label] })
	return value
}

// same reports whether the server was not started again between the two readings.
func (r *reading) same(other *reading) bool {
	const started = "flashsale_start_time_seconds"
	return r.sum(started) == other.sum(started)
}

// buckets adds up all series of a histogram: how many values are at most each bound.
func (r *reading) buckets(name string) map[float64]float64 {
	counts := map[float64]float64{}
	for _, metric := range r.families[name].GetMetric() {
		for _, bucket := range metric.GetHistogram().GetBucket() {
			counts[bucket.GetUpperBound()] += float64(bucket.GetCumulativeCount())
		}
		if n := len(metric.GetHistogram().GetBucket()); n > 0 &&
			!math.IsInf(metric.GetHistogram().GetBucket()[n-1].GetUpperBound(), 1) {
			counts[math.Inf(1)] += float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return counts
}
