// The curve of the sale from its beginning: the points that the server has kept, and the seconds since.
// As on the server, the older a point is the more seconds it covers.

const tiers = [{ step: 1, places: 600 }, { step: 10, places: 360 }, { step: 120, places: 360 }];
const coarsest = 3600;

// sum adds numbers of which some are null: not known.
const sum = (numbers) => numbers.reduce((a, b) => (b === null ? a : (a ?? 0) + b), null);
const most = (numbers) => numbers.reduce((a, b) => (b === null ? a : Math.max(a ?? 0, b)), null);

export class Curve {
  constructor({ before = 0, parts = [], missing = [] } = {}) {
    this.before = before;
    this.missing = missing.map(([from, to, servers, of]) => ({ from, to, servers, of }));
    this.points = parts.flatMap(({ step, from, orders, refused, p99_ms: p99, connections }) =>
      orders.map((n, i) => ({ t: from + i * step, step, orders: n, refused: refused[i], p99: p99[i],
        connections: connections[i] })));
    this.total();
  }

  // total counts the orders up to each point, and how many there were in a second since the point before that
  // is known.
  total() {
    let [all, last] = [this.before, null];
    for (const point of this.points) {
      point.total = point.rate = null;
      if (point.orders !== null) {
        const end = point.t + point.step;
        all += point.orders;
        point.total = all;
        point.rate = point.orders / (end - (last ?? point.t));
        last = end;
      }
    }
  }

  // add adds a second. One that is known already, after a reconnect, counts once; missing ones have no value.
  add(pace) {
    const end = this.points.length > 0 ? this.points.at(-1).t + this.points.at(-1).step : pace.t;
    const point = { t: pace.t, step: 1, orders: pace.orders, refused: sum(Object.values(pace.refused)) ?? 0,
      p99: pace.p99_1s_ms, connections: pace.connections };
    const known = this.points.findLastIndex(({ t, step }) => t === pace.t && step === 1);
    if (known >= 0) {
      this.points[known] = point;
    } else if (pace.t >= end) {
      for (let t = Math.max(end, pace.t - tiers[0].places); t < pace.t; t++) {
        this.points.push({ t, step: 1, orders: null, refused: null, p99: null, connections: null });
      }
      this.points.push(point);
    }
    this.miss(pace);
    this.thin();
    this.total();
  }

  // miss notes that servers were away.
  miss({ t, servers, servers_of: of }) {
    if (of === null || servers >= of) {
      return;
    }
    const last = this.missing.at(-1);
    if (last && t <= last.to && last.servers === servers && last.of === of) {
      last.to = Math.max(last.to, t + 1);
    } else {
      this.missing.push({ from: t, to: t + 1, servers, of });
    }
  }

  // thin makes one point of some old ones where there are more than a part may have.
  thin() {
    tiers.forEach(({ step, places }, i) => {
      const next = tiers[i + 1]?.step ?? coarsest;
      const first = this.points.findIndex((point) => point.step === step);
      if (first < 0 || this.points.findLastIndex((point) => point.step === step) - first < places) {
        return;
      }
      const t = Math.floor(this.points[first].t / next) * next;
      const old = this.points.slice(first).filter((point) => point.t < t + next);
      const of = (name) => old.map((point) => point[name]);
      this.points.splice(first, old.length, { t, step: next, orders: sum(of("orders")), refused: sum(of("refused")),
        p99: most(of("p99")), connections: most(of("connections")) });
    });
  }

  // away is which servers were missing at a point, undefined for none.
  away({ t, step }) {
    return this.missing.find(({ from, to }) => from < t + step && to > t);
  }
}
