// Numbers and times as people read them.

import { language, say } from "./words.js";

export const region = { en: "en-GB" }[language] ?? language;
const whole = new Intl.NumberFormat(region, { maximumFractionDigits: 0 });
const second = new Intl.DateTimeFormat(region, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(region, { timeStyle: "short" });
const toSecond = new Intl.DateTimeFormat(region, { timeStyle: "medium" });
const inUTC = { timeZone: "UTC" };
const clockUTC = new Intl.DateTimeFormat(region, { timeStyle: "medium", ...inUTC });
const secondUTC = new Intl.DateTimeFormat(region, { dateStyle: "medium", timeStyle: "medium", ...inUTC });
const minute = new Intl.DateTimeFormat(region, { dateStyle: "medium", timeStyle: "short" });

export const number = (n) => (n === null || n === undefined ? "–" : whole.format(n));

// count is a number of things.
export const count = (n, thing) => say(`{n} ${thing}${n === 1 ? "" : "s"}`, { n: number(n) });

// size is a number of bytes.
export function size(bytes) {
  const units = [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"]];
  const [unit, name] = units.find(([least]) => bytes >= least) ?? [1, ""];
  return name === "" ? count(bytes, "byte") : `${(bytes / unit).toFixed(1)} ${name}`;
}

export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

// time is a time of RFC 3339 in the zone of this browser.
export const time = (text) => (text ? second.format(new Date(text)) : "–");

// zoned is a time with the same one in UTC beside it, where the zone of this browser is another.
export function zoned(text) {
  const at = new Date(text);
  const offset = at.getTimezoneOffset();
  const format = at.getDate() === at.getUTCDate() ? clockUTC : secondUTC;
  return offset === 0 ? time(text) : `${time(text)} (${format.format(at)} UTC)`;
}

// moment is a time of RFC 3339, short where it is today.
export function moment(text) {
  const at = new Date(text);
  return (at.toDateString() === new Date().toDateString() ? clock : minute).format(at);
}

// clockTime is a time of today in Unix seconds, to the second.
export const clockTime = (seconds) => toSecond.format(new Date(seconds * 1000));

export const upToMinute = (seconds) => minute.format(new Date(seconds * 1000));

// latency has the same number of characters from 0.1 to 9999 ms, more or less.
export function latency(ms) {
  if (ms === null || ms === undefined) {
    return "–";
  }
  return ms < 10 ? `${ms.toFixed(1)} ms` : ms < 10000 ? `${whole.format(ms)} ms` : `${whole.format(ms / 1000)} s`;
}

// span is a time to wait: 2 d 03:04:05, 03:04:05 or 04:05. It reaches zero at the end and not a second before.
export function span(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  const days = Math.floor(seconds / 86400);
  const hours = Math.floor(seconds / 3600) % 24;
  const rest = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  if (days > 0) {
    return `${days} d ${two(hours)}:${rest}`;
  }
  return hours > 0 ? `${two(hours)}:${rest}` : rest;
}

// wait is a number of seconds to wait, rounded up to what people read.
export function wait(seconds) {
  const [size, unit] = [[3600, "hour"], [60, "minute"]].find(([least]) => seconds >= 2 * least) ?? [1, "second"];
  return new Intl.NumberFormat(region, { style: "unit", unit, unitDisplay: "long" }).format(Math.ceil(seconds / size));
}

// after is how long something took: 850 ms, 4.2 s, 12:30 or longer.
export function after(ms) {
  if (ms === null || ms === undefined) {
    return "–";
  }
  return ms < 1000 ? `${ms} ms` : ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : span(ms);
}

// localInput is the value of an input of a date and a time, in the zone of this browser; "" for no time.
export function localInput(text) {
  if (!text) {
    return "";
  }
  const at = new Date(text);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}

// fromLocalInput is the opposite; null for no time.
export const fromLocalInput = (value) => (value === "" ? null : new Date(value).toISOString());
