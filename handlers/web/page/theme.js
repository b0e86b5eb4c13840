// The theme is set before the first paint, so that the page does not flash. This is the only script that is
// not a module: it must run before the body is read.
"use strict";

const themes = ["system", "light", "dark"];

function themeOfChoice() {
  try {
    const theme = localStorage.getItem("theme");
    return themes.includes(theme) ? theme : "system";
  } catch {
    return "system"; // the browser stores nothing
  }
}

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function applyTheme(theme) {
  const system = systemIsDark.matches ? "dark" : "light";
  document.documentElement.dataset.theme = theme === "system" ? system : theme;
  document.dispatchEvent(new Event("theme"));
}

function nextTheme() {
  const theme = themes[(themes.indexOf(themeOfChoice()) + 1) % themes.length];
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // it holds until the page is left
  }
  applyTheme(theme);
  return theme;
}

systemIsDark.addEventListener("change", () => applyTheme(themeOfChoice()));
applyTheme(themeOfChoice());
