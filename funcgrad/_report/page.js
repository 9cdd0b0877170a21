(() => {
  const data = JSON.parse(document.getElementById("graph").textContent);
  const items = data.items;
  const first = new Set(data.open);
  const open = new Set(first);
  const SVG = "http://www.w3.org/2000/svg";
  const TITLE = data.sizes.title;
  const view = document.getElementById("view"), world = document.getElementById("world");
  const tip = document.getElementById("tip"), search = document.getElementById("search"), found = document.getElementById("found");
  const drawn = new Map(), touching = new Map();
  let boxes, bends;
  let scale = 1, dx = 0, dy = 0, matches = [], current = -1;

  items.forEach((item, i) => { item.i = i; });
  const path = (i) => { const p = []; for (let u = items[i].u; u >= 0; u = items[u].u) p.unshift(u); return p; };
  const paths = items.map((_, i) => path(i));
  const seen = (i) => { for (const g of paths[i]) if (!open.has(g)) return g; return i; };
  const routes = new Map();
  for (const item of items) for (const [a, b, way] of item.e || []) routes.set(a + ">" + b, way);
  const ports = new Map();
  for (const item of items) for (const [child, entering, way] of item.w || []) ports.set(child + (entering ? "<" : ">"), way);
  const most = Math.max(1, ...items.filter((x) => x.k === "op").map((x) => x.f));

  // --- drawing
  function make(name, attributes, parent, text) {
    const node = document.createElementNS(SVG, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    if (parent) parent.appendChild(node);
    return node;
  }
  function draw() {
    ({ boxes, bends } = placed(data, open));
    world.replaceChildren();
    drawn.clear(); touching.clear();
    const frames = make("g", {}, world), edges = make("g", { class: "edges" }, world), nodes = make("g", {}, world);
    for (const [i, box] of boxes) if (i) (open.has(i) ? frame(i, box, frames) : node(i, box, nodes));
    const done = new Set();
    items.forEach((item, i) => item.r.forEach((r) => {
      const a = seen(i), b = seen(r), key = a + ">" + b;
      if (a !== b && !done.has(key)) { done.add(key); edge(a, b, edges); }
    }));
    if (current >= 0 && matches.length) mark();
  }
  function frame(i, [x, y, w, h], parent) {
    const item = items[i], group = make("g", { class: `frame ${item.p}` }, parent);
    make("rect", { x, y, width: w, height: h, rx: 8 }, group);
    const bar = make("g", { class: "bar", tabindex: 0, role: "button", "aria-label": `fold ${item.l}` }, group);
    make("rect", { x, y, width: w, height: TITLE, rx: 8, class: "hit" }, bar);
    const text = make("text", { x: x + 12, y: y + 18 }, bar);
    make("tspan", { class: "fold" }, text, "\u2212 ");
    make("tspan", { class: "name" }, text, item.l);
    make("tspan", { class: "below", dx: 8 }, text, item.b);
    bar.addEventListener("click", (event) => toggle(i, event.shiftKey));
    listen(bar, i);
    drawn.set(i, group);
  }
  function node(i, [x, y, w, h], parent) {
    const item = items[i], small = h < 30, kind = item.k === "op" || item.k === "group" ? item.p : item.k;
    const group = make("g", { class: `node ${kind}${item.k === "group" ? " closed" : ""}`, tabindex: 0, "aria-label": item.l }, parent);
    if (item.k === "group") make("rect", { x: x + 3, y: y + 3, width: w, height: h, rx: 6, class: "behind" }, group);
    make("rect", { x, y, width: w, height: h, rx: small ? h / 2 : 6 }, group);
    const text = make("text", { x: x + w / 2, y: small ? y + h / 2 + 4 : y + 17 }, group);
    if (item.k === "group") make("tspan", { class: "fold" }, text, "+ ");
    make("tspan", { class: "name" }, text, item.l);
    const rest = small ? item.b : item.d;
    if (rest) make("tspan", { class: "detail" }, text, " " + rest);
    if (!small) make("text", { x: x + w / 2, y: y + 32, class: "below" }, group, item.b);
    if (item.k === "op" && item.f) {
      const share = Math.sqrt(item.f / most) * (w - 12);
      if (share >= 2) make("rect", { x: x + 6, y: y + h - 4, width: share, height: 2, rx: 1, class: "cost" }, group);
    }
    if (item.k === "group") group.addEventListener("click", (event) => toggle(i, event.shiftKey));
    listen(group, i);
    drawn.set(i, group);
  }
  function edge(a, b, parent) {
    const [ax, ay, aw, ah] = boxes.get(a), [bx, by, bw, bh] = boxes.get(b);
    const pa = [...paths[a], a], pb = [...paths[b], b];
    let depth = 0;
    while (depth + 1 < Math.min(pa.length, pb.length) && pa[depth + 1] === pb[depth + 1]) depth++;
    const group = pa[depth], one = pa[Math.min(depth + 1, pa.length - 1)], other = pb[Math.min(depth + 1, pb.length - 1)];
    let d;
    const across = group === 0 && data.columns;
    if (across) {
      const right = ax < bx, x0 = ax + (right ? aw : 0), x1 = bx + (right ? 0 : bw), y0 = ay + ah / 2, y1 = by + bh / 2, m = (x0 + x1) / 2;
      d = `M${x0},${y0} C${m},${y0} ${m},${y1} ${x1},${y1}`;
    } else {
      const middle = (routes.get(one + ">" + other) || []).map((n) => bends.get(group + ":" + n));
      const out = pa.slice(depth + 2).reverse().flatMap((c) => (ports.get(c + ">") || []).map((n) => bends.get(items[c].u + ":" + n)));
      const into = pb.slice(depth + 2).flatMap((c) => (ports.get(c + "<") || []).map((n) => bends.get(items[c].u + ":" + n)));
      const up = items[group].p === "backward";
      const points = [[ax + aw / 2, up ? ay : ay + ah], ...out, ...middle, ...into, [bx + bw / 2, up ? by + bh : by]];
      d = `M${points[0]}`;
      for (let k = 1; k < points.length; k++) {
        const [x0, y0] = points[k - 1], [x1, y1] = points[k], m = (y0 + y1) / 2;
        d += ` C${x0},${m} ${x1},${m} ${x1},${y1}`;
      }
    }
    const line = make("path", { d, class: across ? "across" : "", "marker-end": "url(#tip-end)" }, parent);
    for (const end of [a, b]) { if (!touching.has(end)) touching.set(end, []); touching.get(end).push(line); }
  }
  function listen(element, i) {
    const lines = () => touching.get(i) || [];
    const twin = (on) => { const other = drawn.get(items[i].t); if (other) other.classList.toggle("twin", on); };
    const enter = (event) => { element.classList.add("on"); lines().forEach((line) => line.classList.add("on")); twin(true); tell(i, event); };
    const leave = () => { element.classList.remove("on"); lines().forEach((line) => line.classList.remove("on")); twin(false); tip.hidden = true; };
    element.addEventListener("pointerenter", enter);
    element.addEventListener("pointermove", (event) => put(event.clientX, event.clientY));
    element.addEventListener("pointerleave", leave);
    element.addEventListener("focus", (event) => { if (element.matches(":focus-visible")) enter(event); });
    element.addEventListener("blur", leave);
    element.addEventListener("keydown", (event) => {
      if ((event.key === "Enter" || event.key === " ") && items[i].c) { event.preventDefault(); toggle(i, event.shiftKey); }
    });
  }
  function tell(i, event) {
    const item = items[i], blocks = paths[i].slice(1).map((g) => items[g].l).join(" / ");
    tip.replaceChildren();
    const add = (name, text) => {
      if (!text) return;
      const row = document.createElement("div"), key = document.createElement("b"), value = document.createElement("span");
      key.textContent = name; value.textContent = text;
      row.append(key, value); tip.append(row);
    };
    for (const [name, text] of item.a) add(name, text);
    if (item.k === "op" || item.k === "group") add("direction", item.p);
    if (item.n > 1) add("holds", `${item.n.toLocaleString("en")} equations`);
    add("in", blocks);
    tip.hidden = false;
    const box = event.currentTarget.getBoundingClientRect();
    event.clientX === undefined ? put(box.right, box.bottom) : put(event.clientX, event.clientY);
  }
  function put(x, y) {
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(x + 16, innerWidth - width - 8))}px`;
    tip.style.top = `${y + 18 + height > innerHeight - 8 ? Math.max(8, y - height - 12) : y + 18}px`;
  }

  // --- folding: the clicked box keeps its position
  function toggle(i, alone) {
    const [x, y] = boxes.get(i);
    const at = [x * scale + dx, y * scale + dy];
    const opening = !open.has(i), twin = items[i].t;
    // The backward pass of a block folds and unfolds with it.
    for (const each of twin >= 0 && !alone ? [i, twin] : [i]) opening ? open.add(each) : open.delete(each);
    tip.hidden = true;
    draw();
    const [nx, ny] = boxes.get(i);
    move(at[0] - nx * scale, at[1] - ny * scale);
  }
  function openAll(which) { open.clear(); which.forEach((i) => open.add(i)); draw(); fit(); }

  // --- moving and zooming
  function move(x, y) { dx = x; dy = y; world.setAttribute("transform", `translate(${dx},${dy}) scale(${scale})`); }
  function zoom(factor, x, y) {
    const wanted = Math.min(4, Math.max(0.02, scale * factor)), by = wanted / scale;
    scale = wanted;
    move(x - (x - dx) * by, y - (y - dy) * by);
  }
  function fit() {
    const [, , w, h] = boxes.get(0), { width, height } = view.getBoundingClientRect();
    scale = Math.min(1.25, width / (w + 16), height / (h + 16));
    move((width - w * scale) / 2, Math.max(8, (height - h * scale) / 2));
  }
  function begin() {
    // Show the whole graph if its text is readable, else fit its width and start at the top.
    fit();
    const [, , w] = boxes.get(0), { width } = view.getBoundingClientRect();
    if (scale < 0.55) { scale = Math.max(0.7, Math.min(1, width / (w + 16))); move(Math.max(8, (width - w * scale) / 2), 8); }
  }
  const held = new Map();
  let moved = false;
  view.addEventListener("pointerdown", (event) => { held.set(event.pointerId, [event.clientX, event.clientY]); moved = false; });
  window.addEventListener("pointermove", (event) => {
    const last = held.get(event.pointerId);
    if (!last) return;
    const now = [event.clientX, event.clientY];
    if (held.size === 1) {
      if (moved || Math.hypot(now[0] - last[0], now[1] - last[1]) > 3) {
        moved = true; view.classList.add("moving");
        move(dx + now[0] - last[0], dy + now[1] - last[1]);
        held.set(event.pointerId, now);
      }
    } else {
      const other = [...held].find(([id]) => id !== event.pointerId)[1];
      const before = Math.hypot(last[0] - other[0], last[1] - other[1]), after = Math.hypot(now[0] - other[0], now[1] - other[1]);
      const top = view.getBoundingClientRect();
      if (before > 0) zoom(after / before, (now[0] + other[0]) / 2 - top.left, (now[1] + other[1]) / 2 - top.top);
      moved = true;
      held.set(event.pointerId, now);
    }
  });
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, (event) => { held.delete(event.pointerId); view.classList.remove("moving"); });
  view.addEventListener("click", (event) => { if (moved) { event.stopPropagation(); event.preventDefault(); } }, true);
  view.addEventListener("wheel", (event) => {
    const top = view.getBoundingClientRect();
    // In a notebook, the wheel scrolls the notebook.
    if (window.parent !== window && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX - top.left, event.clientY - top.top);
  }, { passive: false });

  // --- search
  function look() {
    const words = search.value.trim().toLowerCase();
    matches = []; current = -1;
    if (words) items.forEach((item, i) => {
      if (i && [item.l, item.d, item.b, ...item.a.map(([, text]) => text)].join(" ").toLowerCase().includes(words)) matches.push(i);
    });
    found.textContent = words ? `${matches.length.toLocaleString("en")} found` : "";
    mark();
  }
  function mark() {
    const hits = new Set(matches.map(seen));
    world.classList.toggle("searching", matches.length > 0);
    for (const [i, group] of drawn) { group.classList.toggle("match", hits.has(i)); group.classList.toggle("here", current >= 0 && matches[current] === i); }
  }
  function next(step) {
    if (!matches.length) return;
    current = (current + step + matches.length) % matches.length;
    const i = matches[current];
    const folded = paths[i].filter((g) => !open.has(g));
    folded.forEach((g) => open.add(g));
    if (folded.length) draw();
    found.textContent = `${current + 1} of ${matches.length.toLocaleString("en")}`;
    scale = Math.max(scale, 0.9);
    const [x, y, w, h] = boxes.get(i), { width, height } = view.getBoundingClientRect();
    move(width / 2 - (x + w / 2) * scale, height / 2 - (y + Math.min(h, height / scale) / 2) * scale);
    mark();
  }
  search.addEventListener("input", look);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); next(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") { search.value = ""; look(); search.blur(); }
  });

  // --- buttons and keys
  const groups = items.filter((item) => item.c).map((item) => item.i);
  const columns = data.columns ? items[0].c : [];
  const middle = () => { const { width, height } = view.getBoundingClientRect(); return [width / 2, height / 2]; };
  const actions = {
    fit, in: () => zoom(1.25, ...middle()), out: () => zoom(0.8, ...middle()),
    fold: () => openAll([0, ...columns]), unfold: () => openAll(groups),
  };
  for (const button of document.querySelectorAll("button[data-do]")) button.addEventListener("click", () => actions[button.dataset.do]());
  window.addEventListener("keydown", (event) => {
    if (event.target === search || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = { "/": () => { event.preventDefault(); search.focus(); }, f: fit, "0": fit, "+": actions.in, "=": actions.in, "-": actions.out, c: actions.fold, e: actions.unfold, n: () => next(1) };
    if (keys[event.key]) keys[event.key]();
  });
  let touched = false;
  for (const name of ["pointerdown", "wheel", "keydown"]) window.addEventListener(name, () => { touched = true; }, { capture: true, passive: true });
  window.addEventListener("resize", () => { if (!touched && current < 0) begin(); });
  draw();
  begin();
  if (location.hash.length > 1) { search.value = decodeURIComponent(location.hash.slice(1)); look(); next(1); }
})();
