"use strict";
// Return the box [x, y, width, height] of each visible item, and the middle [x, y] of each bend by "group:bend".
// layout.py has placed the children of each group, for the groups that are open at first. A child of another size now
// moves the boxes of its row to both sides, and the rows below it down.
function placed(data, open) {
  const items = data.items, first = new Set(data.open), { padding, title, bend } = data.sizes;
  const sizes = new Map(), inside = new Map(), boxes = new Map(), bends = new Map();
  const before = (i) => first.has(i) ? items[i].z : items[i].s;
  const move = (item, i) => {
    const corner = new Map(item.c.map((c, k) => [c, item.at[k]])), points = item.bends.slice(), corners = new Map();
    let left = Infinity, right = -Infinity, down = 0;
    for (const row of item.rows) {
      const shown = row.filter((c) => c >= 0);
      const grown = Math.max(0, ...shown.map((c) => sizes.get(c)[1])) - Math.max(0, ...shown.map((c) => before(c)[1]));
      let across = -shown.reduce((sum, c) => sum + sizes.get(c)[0] - before(c)[0], 0) / 2;
      for (const c of row) {
        if (c < 0) {
          const [x, y] = item.bends[-1 - c];
          points[-1 - c] = [x + across, y + down + grown / 2];
          left = Math.min(left, x + across - bend / 2);
          right = Math.max(right, x + across + bend / 2);
        } else {
          const [x, y] = corner.get(c), [w, h] = sizes.get(c), [w0, h0] = before(c);
          // The two passes of a gradient end at one height; the boxes of other rows have one middle.
          const part = i === 0 && data.columns ? 1 : 0.5;
          corners.set(c, [x + across, y + down + (grown - h + h0) * part]);
          left = Math.min(left, x + across);
          right = Math.max(right, x + across + w);
          across += w - w0;
        }
      }
      down += grown;
    }
    const by = item.rows.length ? padding - left : 0;
    for (const corner of corners.values()) corner[0] += by;
    inside.set(i, { corners, points: points.map(([x, y]) => [x + by, y]) });
    return [Math.max(item.z[2], right - left + 2 * padding), item.z[1] + down];
  };
  const size = (i) => {
    const item = items[i];
    if (open.has(i)) item.c.forEach(size);
    sizes.set(i, open.has(i) ? move(item, i) : item.s);
  };
  const spread = (i, x, y) => {
    boxes.set(i, [x, y, ...sizes.get(i)]);
    if (!open.has(i)) return;
    inside.get(i).points.forEach(([px, py], n) => bends.set(i + ":" + n, [x + px, y + py]));
    for (const [c, [cx, cy]] of inside.get(i).corners) spread(c, x + cx, y + cy);
  };
  size(0);
  spread(0, 0, 0);
  return { boxes, bends };
}
