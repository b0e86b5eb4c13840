// The theme is set before the first paint, so that the page does not flash. This is the only script that is
// not a module: it must run before the body is read.
"use strict";

const themes = ["system", "light", "dark"];

function themeOfChoice() {
  try {
    return localStorage.getItem("theme") || "system";
  } catch {
    return "system"; // the browser stores nothing
  }
}

function applyTheme(theme) {
  if (theme === "light" || theme === "dark") {
    document.documentElement.dataset.theme = theme;
  } else {
    delete document.documentElement.dataset.theme;
  }
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

applyTheme(themeOfChoice());
