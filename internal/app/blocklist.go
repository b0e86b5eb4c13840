package app

import (
	"os"

	"flashsale/internal/config"
	"flashsale/internal/rooms/blocklist"
	"flashsale/internal/store/datafolder"
)

// blocklistName is the name of the snapshot in the data folder.
const blocklistName = "blocklist"

// openBlocklist makes the keeper of the list of invalid passports, nil where there is none.
func openBlocklist(cfg *config.Config, folder *datafolder.Folder, store *store) (*blocklist.Keeper, error) {
	if cfg.Blocklist == "" {
		return nil, nil
	}
	k := blocklist.Config{Source: cfg.Blocklist, Refresh: cfg.BlocklistRefresh, Force: cfg.BlocklistForce,
		Path: folder.File(blocklistName), Terminal: os.Stderr}
	if !store.private {
		k.Redis = &store.redis.Config
	}
	return blocklist.NewKeeper(k)
}
