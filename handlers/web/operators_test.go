//go:build !race

package web_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/pquerna/otp/totp"

	"flashsale/internal/rooms/operators"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/idp"
	"flashsale/internal/testkit/launch"
)

const operatorPassword = "correct horse battery"

// logInOperator fills the form of an operator. The second factor, if there is one, is still to come.
func (p *tab) logInOperator(name string) {
	p.t.Helper()
	p.click("#log-in")
	p.click("#login-operator")
	p.fill("login-name", name)
	p.fill("login-password", operatorPassword)
	p.click("#login-form .primary")
}

// operatorsFile makes a list of operators with the password operatorPassword.
func operatorsFile(t *testing.T, roles map[string]operators.Role, change func([]operators.Operator)) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "operators.csv")
	testkit.Must(t, operators.Change(file, func([]operators.Operator) (list []operators.Operator, err error) {
		for name, role := range roles {
			if list, err = operators.Add(list, name, role, []byte(operatorPassword)); err != nil {
				return nil, err
			}
		}
		change(list)
		return list, nil
	}))
	return file
}

// An operator logs in at an OpenID provider. What it has told leaves the browser's address at once, and
// nothing of it stays in the browser.
func TestProviderOnPage(t *testing.T) {
	t.Parallel()
	provider := idp.Start(t)
	knows := func(name string) {
		provider.Break(idp.Fault{Claims: map[string]any{"preferred_username": name}})
	}
	port := launch.ClosedPort(t)
	roles := map[string]operators.Role{"Ann Lee": operators.Operates}
	file := operatorsFile(t, roles, func([]operators.Operator) {})
	s := newShop(t, 4, 10, "-operators", file, "-app-port", port, "-oidc-issuer", provider.URL, "-oidc-client",
		idp.ClientID, "-oidc-secret", idp.Secret, "-oidc-return", "http://127.0.0.1:"+port+"/")
	p := open(t, s.Address, "buy")
	refused := func(what, text string) {
		t.Helper()
		p.until(what, fmt.Sprintf(
			`document.getElementById("login-message")?.textContent.includes(%q) === true`, text))
		left := p.js(`return location.search + location.hash + sessionStorage.length + history.state`)
		if left != "0null" {
			t.Errorf("%s: the browser keeps %s", what, left)
		}
	}
	p.click("#log-in")
	p.until("the form of a buyer", `document.getElementById("login-provider").hidden`)
	p.click("#login-operator")
	p.untilText("login-provider", "Log in with 127.0.0.1")
	p.js(axe)
	p.accessible("the login of operators with a provider")
	p.shoot("login-provider")
	knows("alice")
	p.click("#login-provider")
	refused("nobody", "Your account there is not one of an operator.")
	p.run(chromedp.Navigate(p.base + "?error=access_denied&state=x"))
	refused("no", "This login was not finished")
	p.run(chromedp.Navigate(p.base + "?code=x&state=y"))
	refused("another tab", "This login was not finished")

	knows("Ann Lee")
	p.click("#login-provider")
	p.until("the login", `document.getElementById("account")?.textContent === "Ann Lee (operator)"`)
	p.until("the view of operators", `!document.getElementById("view-operate").hidden &&
		location.href === location.origin + "/#/operate"`)
	if stored := p.js("return sessionStorage.length + document.cookie.length"); stored != "0" {
		t.Errorf("%s things are stored for an operator", stored)
	}
	p.click("#do-pause")
	p.confirm()
	p.until("the name in the log", `document.querySelector("#log tbody").textContent.includes("Ann Lee")`)
}

// An operator logs in with the code of a second factor and runs the sale; the log says who. A viewer sees
// the sale, and nothing that changes it.
func TestOperatorsOnPage(t *testing.T) {
	t.Parallel()
	var secret string
	roles := map[string]operators.Role{"Ann Lee": operators.Operates, "vera": operators.Viewer}
	file := operatorsFile(t, roles, func(list []operators.Operator) {
		ann := operators.ByName(list, "Ann Lee")
		_, _, err := ann.SetTOTP()
		testkit.Must(t, err)
		secret = ann.TOTP
	})
	s := newShop(t, 4, 10, "-operators", file)
	p := open(t, s.Address, "live")
	p.js(axe)
	p.logInOperator("ann lee")
	p.until("the question for the code", `document.activeElement.id === "login-code"`)
	p.untilText("login-message", "Now enter the code")
	p.accessible("the code of an operator")
	p.shoot("login-code")
	p.fill("login-code", "12345x")
	p.click("#login-form .primary")
	p.untilText("login-message", "The code is wrong")
	code, err := totp.GenerateCode(secret, time.Now())
	testkit.Must(t, err)
	p.fill("login-code", code)
	p.click("#login-form .primary")
	p.untilText("account", "Ann Lee (operator)")
	p.until("the view of operators", `!document.getElementById("view-operate").hidden`)
	p.accessible("operate, as an operator")
	p.click("#do-pause")
	p.confirm()
	p.untilText("operate-message", "The sale is paused")
	p.until("the name in the log", `document.querySelector("#log tbody").textContent.includes("Ann Lee")`)
	if stored := p.js("return sessionStorage.length + document.cookie.length"); stored != "0" {
		t.Errorf("%s things are stored for an operator", stored)
	}
	p.view("buy")
	p.until("the form of a visitor", `document.getElementById("cart").hidden`)
	p.click("#log-out")
	p.until("nobody", `document.getElementById("account").hidden`)

	p.logInOperator("vera")
	p.untilText("account", "vera (viewer)")
	p.until("the live view", `document.body.dataset.view === "live"`)
	p.until("the views of a viewer", `[...document.querySelectorAll("nav a")].filter((a) => !a.hidden)
		.map((a) => a.textContent).join() === "Shop,Live,Operate,Orders,Traffic"`)
	for _, view := range []string{"live", "operate", "orders", "traffic"} {
		p.view(view)
		p.accessible(view + ", as a viewer")
		acts := p.js(`return [...document.querySelectorAll("main button")].filter((b) => b.checkVisibility())
			.filter((b) => !b.closest("#traffic-top, thead")).map((b) => b.textContent)
			.filter((text) => !/^(Read again|Stop|Previous|Next|Refresh)$/.test(text))
			.filter((text) => !/^(Orders as CSV|Items as CSV|Orders as JSON lines|Show what it would be)$/.test(text))
			.filter((text) => !/^(Search|All orders|Sums as CSV|Show on a wall)$/.test(text)).join()`)
		if acts != "" {
			t.Errorf("%s has for a viewer: %s", view, acts)
		}
	}
	p.view("operate")
	p.until("the log", `document.querySelector("#log tbody").textContent.includes("Ann Lee")`)
	p.click("#next-plan")
	p.untilText("next-shown", "The next one has 4 foods with 40 pieces, as this one had at first.")
	p.run(chromedp.EmulateViewport(320, 640))
	p.shoot("viewer-phone")
	if wide := p.js("return document.documentElement.scrollWidth - innerWidth"); wide > "0" {
		t.Errorf("with the name of an operator the page is %s pixels wider than a small screen", wide)
	}
	p.js(`document.getElementById("language").click()`) // it loads the page again, which ends the login
	p.until("Chinese", `document.documentElement?.lang === "zh"`)
	p.click("#log-in")
	p.click("#login-operator")
	p.untilText("login-title", "操作员登录")
	p.fill("login-name", "vera")
	p.fill("login-password", operatorPassword)
	p.click("#login-form .primary")
	p.untilText("account", "vera (查看员)")
}
