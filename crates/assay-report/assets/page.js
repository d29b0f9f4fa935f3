// Sorts and filters the table of tests; what is chosen is kept in the address after `#`. Divides the matrix by another
// system. Without it the page is whole.
"use strict";
(() => {
  const form = document.getElementById("choice");
  const rows = document.querySelectorAll(".matrix tbody tr:has(td)");
  if (!form || !rows.length) return;
  const cells = [...rows].map((row) => [...row.querySelectorAll("td[data-v]")]);
  const shown = cells.map((row) => row.map((cell) => [cell.textContent, cell.className, cell.title]));

  const factor = (value) => Number(value.toPrecision(3)).toLocaleString("en-US");
  const short = (ratio) => ratio >= 0.0995 && ratio < 9.995 ? ratio.toFixed(2)
    : ratio > 1 ? factor(ratio) : `1/${factor(1 / ratio)}`;
  const choose = (base) => {
    cells.forEach((row, number) => row.forEach((cell, system) => {
      [cell.textContent, cell.className, cell.title] = shown[number][system];
      if (base === 0) return;
      const ratio = cell.dataset.v / row[base].dataset.v;
      const known = cell.dataset.v !== "" && row[base].dataset.v !== "" && Number.isFinite(ratio);
      const percent = Math.round(100 * ratio);
      cell.textContent = known ? short(ratio) : "–";
      cell.title = "";
      cell.classList.toggle("better", known && percent > 105);
      cell.classList.toggle("worse", known && percent < 95);
    }));
    form.elements.chosen.value = base === 0 ? "" : "Quotients of the ratios, without verdicts and intervals: ";
    if (base === 0) return;
    const command = document.createElement("code");
    command.textContent = "assay report --base SYSTEM";
    form.elements.chosen.append(command, " judges.");
  };

  form.hidden = false;
  form.addEventListener("change", () => choose(form.elements.base.selectedIndex));
  choose(form.elements.base.selectedIndex);
})();
(() => {
  const table = document.getElementById("table");
  const form = document.getElementById("filter");
  if (!table || !form) return;
  const shown = document.getElementById("shown");
  const headings = [...table.tBodies].filter((body) => body.className === "group");
  const tests = [...table.tBodies].filter((body) => body.className === "test");
  const published = [...table.tBodies];
  const columns = [...table.tHead.querySelectorAll("[data-sort]")];
  let sort = null; // { column, descending }; none: as published

  // The cells of a test's first row, by column of `data-sort`.
  const value = (test, column) => test.rows[0].cells[column].dataset.v;

  const compare = (column, descending) => (a, b) => {
    const [x, y] = [value(a, column), value(b, column)];
    if (x === "" || y === "") return (x === "") - (y === ""); // nothing measured: last, either way
    const order = column === 0 ? x.localeCompare(y, "en", { numeric: true }) : x - y;
    return descending ? -order : order;
  };

  const arrange = () => {
    const order = sort ? [...headings, ...tests.toSorted(compare(sort.column, sort.descending))] : published;
    table.append(...order);
    table.classList.toggle("sorted", Boolean(sort));
    for (const heading of columns) {
      const is = sort && Number(heading.dataset.sort) === sort.column;
      if (is) heading.setAttribute("aria-sort", sort.descending ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    }
  };

  const filter = () => {
    const field = (name) => form.elements[name]?.value ?? "";
    const words = field("q").toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const test of tests) {
      const name = value(test, 0).toLowerCase();
      const fits = words.every((word) => name.includes(word))
        && (!field("group") || test.dataset.group === field("group"))
        && (!field("setup") || test.dataset.setup === field("setup"))
        && (!field("verdict") || test.dataset.verdict.split(" ").includes(field("verdict")));
      test.hidden = !fits;
      count += fits;
    }
    for (const heading of headings) {
      let next = heading.nextElementSibling;
      while (next?.className === "test" && next.hidden) next = next.nextElementSibling;
      heading.hidden = Boolean(sort) || next?.className !== "test";
    }
    const all = `${tests.length} ${tests.length === 1 ? "test" : "tests"}`;
    shown.value = count === tests.length ? all : `${count} of ${all}`;
  };

  const keep = () => {
    const state = new URLSearchParams();
    for (const name of ["q", "group", "verdict", "setup"]) {
      const field = form.elements[name];
      if (field?.value) state.set(name, field.value);
    }
    if (sort) state.set("sort", (sort.descending ? "-" : "") + sort.column);
    history.replaceState(null, "", state.size ? `#${state}` : location.pathname + location.search);
  };

  const restore = () => {
    const hash = location.hash.slice(1);
    if (hash && !hash.includes("=")) return; // a place on the page, not a state
    const state = new URLSearchParams(hash);
    for (const name of ["q", "group", "verdict", "setup"]) {
      const field = form.elements[name];
      if (field) field.value = state.get(name) ?? "";
    }
    sort = parse(state.get("sort"));
    order.value = sort ? (sort.descending ? "-" : "") + sort.column : "";
    arrange();
    filter();
  };

  const parse = (text) => {
    const match = /^(-?)(\d+)$/.exec(text ?? "");
    const is = match && columns.some((heading) => heading.dataset.sort === match[2]);
    return is ? { column: Number(match[2]), descending: match[1] === "-" } : null;
  };

  const resort = (to) => {
    sort = to;
    order.value = sort ? (sort.descending ? "-" : "") + sort.column : "";
    arrange();
    filter();
    keep();
  };

  // What a column is called: its heading, with the system where there are several.
  const systems = [...table.tHead.querySelectorAll(".system")].map((heading) => heading.textContent);
  const called = (heading) => {
    const column = Number(heading.dataset.sort);
    const text = (heading.querySelector(".label") ?? heading).textContent.trim();
    return column < 2 || systems.length < 2 ? text : `${systems[Math.floor((column - 2) / 3)]}: ${text}`;
  };

  // A choice of the order for screens that show no headings.
  const order = document.createElement("select");
  order.name = "sort";
  order.append(new Option("as published", ""));
  for (const heading of columns) {
    const [name, column] = [called(heading), heading.dataset.sort];
    order.append(new Option(`${name} ↑`, column), new Option(`${name} ↓`, `-${column}`));
  }
  order.addEventListener("change", () => resort(parse(order.value)));
  const label = document.createElement("label");
  label.append("Order ", order);
  form.querySelector("button").before(label);

  for (const heading of columns) {
    const button = document.createElement("button");
    button.type = "button";
    button.title = `Sort by ${called(heading)}`;
    const text = heading.querySelector(".label") ?? heading;
    button.append(...text.childNodes);
    text.append(button);
    const column = Number(heading.dataset.sort);
    // First upwards, then downwards, then as published.
    button.addEventListener("click", () => {
      if (sort?.column !== column) resort({ column, descending: false });
      else resort(sort.descending ? null : { column, descending: true });
    });
  }
  form.addEventListener("input", (event) => {
    if (event.target === order) return;
    filter();
    keep();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => resort(null)));
  addEventListener("hashchange", restore);
  form.hidden = false;
  restore();
  if (!shown.value) filter();
})();
