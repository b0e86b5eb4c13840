package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// The example catalogue is a shop: its foods have names, prices in minor units and pictures in the size that
// is asked for. SIGHUP takes another name and another logo, but not a picture that is missing.
func TestExampleCatalogue(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	example := root + "scripts/examples/catalogue/"
	dir, pictures := testkit.Folder(t), testkit.Folder(t)
	copied := func(folder, name string) string {
		text := testkit.ReadFile(t, filepath.Join(example, name))
		testkit.WriteFile(t, filepath.Join(folder, filepath.Base(name)), text)
		return text
	}
	copied(dir, "users.csv")
	foods := copied(dir, "foods.csv")
	copied(pictures, "images/noodles.jpg")
	copied(pictures, "images/dumplings.jpg")
	copied(pictures, "logo.png")
	logo := filepath.Join(pictures, "logo.png")
	args := []string{"-catalog-dir", dir, "-images", pictures, "-workers", "1", "-shop-name", "Huang & Sons",
		"-shop-logo", logo}
	s := setup{args: args}.serve(t)
	c := s.root(t)
	wantFoods := func(part string) {
		t.Helper()
		if r, err := c.Do("GET", "/foods?details=1", ""); err != nil || !strings.Contains(r.Body, part) {
			t.Errorf("%v: %s, want %s", err, r.Body, part)
		}
	}
	wantFoods(`{"id":1,"price":1850,"stock":100,"sold_out_at":null,"currency":"CNY","decimals":2,` +
		`"name":"Beef noodles","names":{"en":"Beef noodles","zh":"牛肉面"}`)
	lengths := map[string]int{}
	for _, size := range []string{"160", "320"} {
		r, err := c.Do("GET", "/images/noodles.jpg?size="+size, "")
		if err != nil || r.Status != 200 || !strings.HasPrefix(r.Body, "\xff\xd8") {
			t.Errorf("picture of %s: %d, %v", size, r.Status, err)
		}
		lengths[size] = len(r.Body)
	}
	if lengths["160"] >= lengths["320"] {
		t.Errorf("pictures of %v bytes", lengths)
	}
	wantLogo := func(kind, body string) {
		t.Helper()
		page, err := c.Do("GET", "/", "")
		name := "/web/logo." + kind
		if err != nil || !strings.Contains(page.Body, name) || !strings.Contains(page.Body, "Huang &amp; Sons") {
			t.Errorf("the page has no name and no %s: %v", name, err)
		}
		if r, err := c.Do("GET", name, ""); err != nil || r.Status != 200 || !strings.HasPrefix(r.Body, body) {
			t.Errorf("%s: %d, %v", name, r.Status, err)
		}
	}
	wantLogo("png", "\x89PNG")

	change := func(old, new string) {
		testkit.WriteFile(t, filepath.Join(dir, "foods.csv"), strings.Replace(foods, old, new, 1))
	}
	change("Beef noodles", "Noodles with beef")
	testkit.WriteFile(t, logo, testkit.ReadFile(t, filepath.Join(pictures, "noodles.jpg")))
	s.awaitRoll(t, 1)
	c = s.root(t)
	wantFoods(`"name":"Noodles with beef"`)
	wantLogo("jpg", "\xff\xd8")
	testkit.WriteFile(t, logo, "<svg/>")
	change("noodles.jpg", "none.jpg")
	s.awaitRoll(t, 2)
	const why = `foods.csv:2: image \"none.jpg\": there is no such file in the folder of -images`
	const badLogo = "logo.png: it is no JPEG, PNG, WebP or GIF picture (SVG is refused, because it can hold " +
		"scripts); save it as one of these"
	if s.Logged(t, why) != 1 || s.Logged(t, badLogo) != 1 {
		t.Errorf("the log does not tell why: %s", s.Warnings(t))
	}
	wantLogo("jpg", "\xff\xd8")
	c = s.root(t)
	wantFoods(`"image":"/images/noodles.jpg"`)
	s.End(t)

	refused := setup{data: s.Data, args: args}.launch(t)
	checkRefused(t, refused.Process, "cannot read the logo "+pictures+"/"+badLogo)
	copied(pictures, "logo.png")
	refused = setup{data: s.Data, args: args}.launch(t)
	checkRefused(t, refused.Process, dir+`/foods.csv:2: image "none.jpg": there is no such file in the folder `+
		"of -images; add it, or name no image")
	change("x", "x")
	refused = setup{data: s.Data, args: args[:2]}.launch(t)
	checkRefused(t, refused.Process, dir+`/foods.csv:2: image "noodles.jpg" is a file; name its folder with `+
		"-images (IMAGES), or write the path of a URL, such as /pictures/1.jpg")
}
