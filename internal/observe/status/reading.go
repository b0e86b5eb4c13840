package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"flashsale/internal/observe/figures"
)

const (
	replyMax = 16 << 20 // bytes of /metrics
	readMax  = 5 * time.Second
)

// client asks servers directly: they are on a private network, where a proxy has no business.
var client = &http.Client{Transport: &http.Transport{}}

// reading holds the metrics of one server at one moment.
type reading struct {
	at     time.Time
	values map[*figures.Family][]figures.Value
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
	return parse(at, io.LimitReader(response.Body, replyMax))
}

// parse reads the text of /metrics.
func parse(at time.Time, text io.Reader) (*reading, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	found, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read metrics: %w", err)
	}
	r := &reading{at, map[*figures.Family][]figures.Value{}}
	for _, f := range figures.Families {
		for _, metric := range found[f.Name].GetMetric() {
			r.values[f] = append(r.values[f], valueOf(f, metric))
		}
	}
	if !r.has(figures.StartTime) {
		return nil, errors.New("cannot read metrics: they are not those of flashsale")
	}
	return r, nil
}

// valueOf is one value as the server had it.
func valueOf(f *figures.Family, metric *dto.Metric) figures.Value {
	labels := make([]string, len(f.Labels))
	for _, pair := range metric.GetLabel() {
		if i := slices.Index(f.Labels, pair.GetName()); i >= 0 {
			labels[i] = pair.GetValue()
		}
	}
	h := figures.Histogram{Bounds: f.Bounds, Count: metric.GetHistogram().GetSampleCount()}
	for _, bucket := range metric.GetHistogram().GetBucket() {
		for i, bound := range f.Bounds {
			if float64(bound)/f.Unit == bucket.GetUpperBound() {
				h.Cumulative[i] = bucket.GetCumulativeCount()
			}
		}
	}
	// One of the three is there.
	number := metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + metric.GetUntyped().GetValue()
	return figures.Value{Labels: labels, Number: number, Histogram: &h}
}

// has reports whether the server has shown a metric.
func (r *reading) has(f *figures.Family) bool { return len(r.values[f]) > 0 }

// sum adds up all values of a counter or a gauge. It is 0 where the metric is missing.
func (r *reading) sum(f *figures.Family) float64 { return figures.Sum(r.values[f]) }

// by adds up the values by their first label.
func (r *reading) by(f *figures.Family) map[string]float64 { return figures.By(r.values[f]) }

// server is one server and what its metrics were lately.
type server struct {
	address string
	now     *reading // the last one
	before  *reading // the reading before, nil at first and after a start of the server
	err     error    // why the server could not be read now
}

// add keeps a reading, and the reading before it.
func (s *server) add(r *reading, err error) {
	if s.err = err; err != nil {
		return
	}
	s.before, s.now = s.now, r
	if s.before != nil && s.before.sum(figures.StartTime) != r.sum(figures.StartTime) {
		s.before = nil
	}
}

// well reports whether the server answers, and its Redis with all slices.
func (s *server) well() bool {
	return s.err == nil && s.now.sum(figures.RedisUp) > 0 &&
		s.now.sum(figures.SlicesAway)+s.now.sum(figures.SlicesLost) == 0
}

// perSecond is how fast the values of a counter have grown since the reading before, by their first label.
// It is empty without that reading.
func (s *server) perSecond(f *figures.Family) map[string]float64 {
	if s.before == nil {
		return nil
	}
	rates, old := s.now.by(f), s.before.by(f)
	for label := range rates {
		rates[label] = (rates[label] - old[label]) / s.now.at.Sub(s.before.at).Seconds()
	}
	return rates
}

// rate is perSecond of all values together.
func (s *server) rate(f *figures.Family) (sum float64) {
	for _, n := range s.perSecond(f) {
		sum += n
	}
	return sum
}

// lately are the values of a histogram since the reading before.
func (s *server) lately(f *figures.Family) figures.Histogram {
	if s.before == nil {
		return figures.Histogram{}
	}
	return figures.Merge(s.now.values[f]).Since(figures.Merge(s.before.values[f]))
}
