package app

import (
	"flashsale/handlers"
	"flashsale/internal/rooms/demand"
)

var demandRoom = room{name: "demand", serve: (*worker).serveDemand}

func demandConfig(o *opening) demand.Config {
	return demand.Config{Redis: o.Redis.Room(demand.HashTag), Sale: o.Sale, Foods: len(o.catalog.Foods())}
}

// serveDemand counts refused demand and serves the sums.
func (w *worker) serveDemand() (part, error) {
	d := demand.New(demandConfig(w.opening))
	return part{run: d.Run, routes: handlers.Sums(d)}, nil
}
