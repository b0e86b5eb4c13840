package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"flashsale/handlers"
	"flashsale/internal/catalog"
	"flashsale/internal/config"
	"flashsale/internal/rooms/images"
	"flashsale/internal/store/datafolder"
)

// imagesName is the name of the file with all pictures in the data folder.
const imagesName = "images"

var imagesRoom = room{name: "images", serve: (*worker).serveImages}

// makeImages makes the pictures that the foods of a catalogue name.
func makeImages(
	ctx context.Context, cfg *config.Config, folder *datafolder.Folder, c *catalog.Catalog,
) error {
	if cfg.Catalog.BuiltIn() {
		return nil // drawn by the workers
	}
	var wanted []images.Wanted
	for _, p := range c.Pictures() {
		wanted = append(wanted, images.Wanted{File: p.File, At: p.At})
	}
	switch {
	case cfg.Images == "" && len(wanted) > 0:
		return fmt.Errorf("%s: image %q is a file; name its folder with -images (IMAGES), or write the path "+
			"of a URL, such as /pictures/1.jpg", wanted[0].At, wanted[0].File)
	case cfg.Images == "":
		return nil
	}
	begin := time.Now()
	report, err := images.Make(ctx, cfg.Images, wanted, folder.File(imagesName))
	if err == nil && report.Made > 0 {
		slog.Info("pictures are made", "pictures", report.Pictures, "made", report.Made, "took", time.Since(begin))
	}
	return err
}

// serveImages serves the pictures.
func (w *worker) serveImages() (part, error) {
	switch {
	case w.cfg.Catalog.BuiltIn():
		return part{routes: handlers.Images(images.Trial(catalog.TrialPicture))}, nil
	case w.cfg.Images == "":
		return part{}, nil
	}
	set, err := images.Open(filepath.Join(w.cfg.DataDir, imagesName))
	if err != nil { // a sale goes on without pictures
		slog.Error("pictures are not served", "error", err)
		return part{}, nil
	}
	return part{routes: handlers.Images(set)}, nil
}
