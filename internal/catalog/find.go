package catalog

import (
	"strconv"
	"strings"
)

// FoodNames returns a function that names foods in a language, such as "zh": in the default where the
// catalogue has no such name, "" without names.
func (c *Catalog) FoodNames(language string) func(food int64) string {
	return func(food int64) string {
		if c.goods.Foods == nil {
			return ""
		}
		name := c.goods.Foods[food-1].Name
		if text, known := name.In[language]; known {
			return text
		}
		return name.Default
	}
}

// FindFoods marks the foods, from food 1 on, with this id or with this text in a name, in any language and
// in capitals or not. It returns nil if there are none.
func (c *Catalog) FindFoods(text string) []bool {
	found, any := make([]bool, len(c.foods)), false
	if id, err := strconv.ParseInt(text, 10, 64); err == nil {
		if id < 1 || id > int64(len(c.foods)) {
			return nil
		}
		found[id-1] = true
		return found
	}
	text = strings.ToLower(text)
	has := func(name string) bool { return strings.Contains(strings.ToLower(name), text) }
	for i, goods := range c.goods.Foods {
		found[i] = has(goods.Name.Default)
		for _, name := range goods.Name.In {
			found[i] = found[i] || has(name)
		}
		any = any || found[i]
	}
	if !any {
		return nil
	}
	return found
}
