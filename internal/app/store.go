package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"flashsale/internal/config"
	"flashsale/internal/store/datafolder"
	"flashsale/internal/store/embedded"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// store is the Redis in use.
type store struct {
	redis       redisx.Config               // how to reach it
	name        string                      // for people
	description string                      // the name, and what a crash can lose
	private     bool                        // no other server can use it
	durable     bool                        // it keeps the sale when this server ends
	newSale     string                      // advice: how to get a new sale in it
	run         func(context.Context) error // its task
}

// startStore returns the Redis to use: the Redis of cfg, or else the default store in the folder, which it
// starts. The folder must be locked.
func startStore(ctx context.Context, cfg *config.Config, folder *datafolder.Folder) (*store, error) {
	if cfg.Redis.Address != "" {
		return useRedis(ctx, cfg, rememberedIn(folder))
	}
	if err := refuseEmptyStore(cfg, folder); err != nil {
		return nil, err
	}
	own, err := embedded.Start(ctx, embedded.Config{Folder: folder, RequireDurable: cfg.RequireDurable})
	if err != nil {
		return nil, err
	}
	redis := cfg.Redis
	redis.Network, redis.Address, redis.Password = own.Network, own.Address, own.Password
	if redis, err = redis.Discover(ctx); err != nil {
		return nil, err
	}
	return &store{
		redis:       redis,
		name:        folder.Path(),
		description: own.Description(),
		private:     true,
		durable:     own.Durable,
		newSale:     newPrivateSale(folder),
		run:         own.Run,
	}, nil
}

// useRedis waits until the Redis of cfg serves, and reads how durable it is. remembered is the file in which
// servers remember the sale, "" for no file.
func useRedis(ctx context.Context, cfg *config.Config, remembered string) (*store, error) {
	if err := redisx.AwaitLoaded(ctx, cfg.Redis); err != nil {
		return nil, unusable(err)
	}
	redis, err := cfg.Redis.Discover(ctx)
	if err != nil {
		return nil, unusable(err)
	}
	durability, err := redis.Durability(ctx)
	if err != nil {
		return nil, unusable(err)
	}
	if err := pipeline.CheckAck(ctx, redis.Config); err != nil {
		return nil, err
	}
	newSale := "use an empty Redis database (or delete the keys " + redisx.SaleKeys + " in this one)"
	if remembered != "" {
		newSale += " and delete " + remembered
	}
	name, elects := redisName(redis), cfg.Redis.Cluster || cfg.Redis.Sentinel != ""
	if cfg.RequireDurable && !durability.Full {
		return nil, fmt.Errorf("-require-durable: Redis at %s: %s", cfg.Redis.Address, durability.Loss)
	}
	description := name + "; " + cfg.Redis.Ack.Loss(durability.Loss, elects)
	if skew := redis.Skew(ctx); skew > redisx.SkewMax {
		description += fmt.Sprintf("; its clocks are %s apart: slices open and close at other moments",
			skew.Round(time.Millisecond))
	}
	return &store{
		redis:       redis,
		name:        name,
		description: description,
		durable:     true,
		newSale:     newSale,
		run:         kept,
	}, nil
}

// redisName says for people which Redis a sale is in, and in how many slices.
func redisName(redis redisx.Config) string {
	name := "Redis at "
	switch addresses := strings.Count(redis.Address, ",") + 1; {
	case redis.Cluster:
		name = "Redis Cluster at "
	case redis.Sentinel != "":
		name = "Redis master " + redis.Sentinel + " of the sentinels at "
	case addresses > 1:
		name = fmt.Sprintf("%d Redis at ", addresses)
	}
	name += redis.Address
	if redis.Slices > 1 {
		name += fmt.Sprintf(", %d slices", redis.Slices)
	}
	return name
}

// unusable adds what to do to the reason why Redis cannot be asked. An answer of Redis has its own advice.
func unusable(err error) error {
	if errors.Is(err, redisx.ErrUnavailable) || errors.Is(err, redisx.ErrOtherSlices) {
		return err
	}
	return fmt.Errorf("%w; start that Redis, or set REDIS_HOST and REDIS_PORT (or -redis) to "+
		"the right one", err)
}

// rememberedIn is the file in which the folder remembers a sale, "" if there is no such file.
func rememberedIn(folder *datafolder.Folder) string {
	if _, err := os.Stat(folder.SalePath()); err != nil {
		return ""
	}
	return folder.SalePath()
}

// kept is the task of a store that another process runs.
func kept(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func newPrivateSale(folder *datafolder.Folder) string {
	lost := ""
	if _, err := os.Stat(folder.File(blocklistName)); err == nil {
		lost = " (and with it the blocklist, which is then imported again)"
	}
	return "delete " + folder.Path() + lost + " or choose another -data"
}

// refuseEmptyStore refuses to start the default store in a folder without data that served a sale from
// another Redis: most likely REDIS_HOST was forgotten.
func refuseEmptyStore(cfg *config.Config, folder *datafolder.Folder) error {
	served, err := folder.Served()
	own := served.Redis == embedded.Socket(folder) || embedded.Holds(folder)
	if err != nil || served.Sale == "" || own || cfg.Sale != "" {
		return err
	}
	return otherRedis(folder, served)
}

// otherRedis is the error for a folder that remembers a sale which the Redis in use does not hold.
func otherRedis(folder *datafolder.Folder, served datafolder.Served) error {
	cure := "set REDIS_HOST"
	if served.Redis == embedded.Socket(folder) {
		cure = "start without REDIS_HOST"
	}
	return fmt.Errorf("this folder served sale %s from %s; %s, or delete %s for a new sale",
		served.Sale, served.Redis, cure, folder.SalePath())
}

// withStore lets a command use the store of the servers, whether they run or not.
func withStore(ctx context.Context, cfg *config.Config, use func(*store) error) (err error) {
	store, free, err := findStore(ctx, cfg)
	if err != nil {
		return err
	}
	tasks := newTasks()
	tasks.start(task{"store", store.run})
	defer func() { err = errors.Join(err, tasks.stop(), free()) }()
	return use(store)
}

// findStore is startStore for a command. While the folder's server runs, its store runs too and is used.
// Call free after the store has ended: it unlocks the folder.
func findStore(ctx context.Context, cfg *config.Config) (found *store, free func() error, err error) {
	free = func() error { return nil }
	if cfg.Redis.Address != "" {
		found, err = useRedis(ctx, cfg, "the file sale in the data folder of each server")
		return found, free, err
	}
	folder, err := findFolder(cfg)
	if err != nil {
		return nil, nil, err
	}
	err = folder.Lock()
	if errors.Is(err, datafolder.ErrInUse) {
		redis := cfg.Redis
		redis.Network, redis.Address = "unix", embedded.Socket(folder)
		if redis, err = redis.Discover(ctx); err != nil {
			return nil, nil, err
		}
		return &store{redis: redis, newSale: newPrivateSale(folder), run: kept}, free, nil
	}
	if err != nil {
		return nil, nil, err
	}
	found, err = startStore(ctx, cfg, folder)
	if err != nil {
		return nil, nil, errors.Join(err, folder.Unlock())
	}
	return found, folder.Unlock, nil
}

// findFolder opens the data folder of a server that has served a sale of its own.
func findFolder(cfg *config.Config) (*datafolder.Folder, error) {
	unserved := fmt.Errorf("no sale was served from %s; name its folder (-data) or its Redis (-redis)",
		cfg.DataDir)
	if _, err := os.Stat(cfg.DataDir); err != nil { // Open would make the folder
		return nil, unserved
	}
	folder, err := datafolder.Open(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	served, err := folder.Served()
	switch {
	case err != nil:
		return nil, err
	case served.Sale == "":
		return nil, unserved
	}
	return folder, refuseEmptyStore(cfg, folder)
}
