package catalog

import "fmt"

// The names of the built-in foods are a style and a dish each, so that a trial sale looks like a shop. Foods
// behind the last one have none.

// word is a word in both languages of the built-in catalogue.
type word struct{ en, zh string }

var (
	styles = [...]word{
		{"Spicy", "香辣"}, {"Garlic", "蒜香"}, {"Sesame", "芝麻"}, {"Ginger", "姜葱"}, {"Honey", "蜜汁"},
		{"Pepper", "黑椒"}, {"Curry", "咖喱"}, {"Lemon", "柠檬"}, {"Smoked", "烟熏"}, {"Herb", "香草"},
	}
	dishes = [...]struct{ name, unit, text word }{
		{word{"noodles", "拉面"}, word{"bowl", "碗"}, word{"Pulled by hand, in a clear broth.", "手工拉制，清汤打底。"}},
		{word{"dumplings", "水饺"}, word{"plate", "盘"},
			word{"Eight to a plate, folded this morning.", "每盘八只，当日现包。"}},
		{word{"fried rice", "炒饭"}, word{"bowl", "碗"},
			word{"From a very hot wok, with egg and peas.", "猛火快炒，配鸡蛋豌豆。"}},
		{word{"tofu", "豆腐"}, word{"bowl", "碗"}, word{"Soft cubes in a slow-cooked sauce.", "嫩豆腐慢炖入味。"}},
		{word{"prawns", "大虾"}, word{"plate", "盘"}, word{"Six large prawns, peeled.", "六只大虾，去壳即食。"}},
		{word{"chicken", "鸡块"}, word{"plate", "盘"}, word{"Crisp outside, tender inside.", "外酥里嫩。"}},
		{word{"salad", "沙拉"}, word{"bowl", "碗"}, word{"Leaves, tomato and cucumber of the day.", "当日时蔬、番茄与黄瓜。"}},
		{word{"soup", "浓汤"}, word{"bowl", "碗"}, word{"Simmered for four hours.", "慢火熬制四小时。"}},
		{word{"buns", "包子"}, word{"basket", "笼"}, word{"Three steamed buns in a basket.", "一笼三只，现蒸现卖。"}},
		{word{"pizza", "披萨"}, word{"slice", "份"}, word{"A thin crust from the stone oven.", "石窑薄底烤制。"}},
	}
)

// builtInGoods is the number of built-in foods with goods, and of the pictures that are drawn for them.
const builtInGoods = len(styles) * len(dishes)

// TrialPicture is the name of the drawn picture of a food: a dish from 0 on, and a style from 0 on.
func TrialPicture(dish, style int) string { return fmt.Sprintf("trial-%d-%d.jpg", dish, style) }

// builtInColumns are those of the goods, in the order of goodsOf.
var builtInColumns = []string{"name.en", "name.zh", "description.en", "description.zh", "unit.en", "unit.zh",
	pictureColumn}

// goodsOf fills the fields of the goods of a built-in food.
func goodsOf(food int, fields []string) {
	if food > builtInGoods {
		clear(fields)
		return
	}
	i, j := (food-1)%len(dishes), (food-1)/len(dishes)
	style, dish := styles[j], dishes[i]
	copy(fields, []string{style.en + " " + dish.name.en, style.zh + dish.name.zh, dish.text.en, dish.text.zh,
		dish.unit.en, dish.unit.zh, TrialPicture(i, j)})
}
