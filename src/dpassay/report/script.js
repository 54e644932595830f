"use strict";
// Filters of the table, and one claim at a time. Without this script the whole report is one long page.
(() => {
  const index = document.getElementById("index");
  const form = document.getElementById("filters");
  const field = (name) => document.getElementById("filter-" + name);
  const rows = [...document.querySelectorAll("table.verdicts tr.row")];
  const claims = [...document.querySelectorAll("section.claim")];
  const title = document.title;
  let place = 0;
  let current = null;

  function filter() {
    const words = field("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const data = row.dataset;
      const visible =
        (!field("outcome").value || data.outcome === field("outcome").value) &&
        (!field("source").value || data.source === field("source").value) &&
        (!field("paper").value || data.paper === field("paper").value) &&
        (!field("evidence").value || data.evidence.split(" ").includes(field("evidence").value)) &&
        (!field("differs").checked || data.differs === "yes") &&
        words.every((word) => data.text.includes(word));
      row.hidden = !visible;
      shown += visible;
    }
    for (const group of document.querySelectorAll("tr.group")) {
      group.hidden = ![...group.parentNode.querySelectorAll("tr.row")].some((row) => !row.hidden);
    }
    document.getElementById("shown").value = shown + " of " + rows.length;
    document.getElementById("nothing").hidden = shown > 0;
  }

  function show() {
    const name = location.hash.slice(1);
    const claim = claims.find((section) => section.id === name) || null;
    if (current === null && claim) place = window.scrollY;
    for (const section of claims) section.classList.toggle("away", section !== claim);
    index.classList.toggle("away", claim !== null);
    document.body.dataset.view = claim ? "claim" : "index";
    document.title = claim ? claim.dataset.title : title;
    if (claim) {
      window.scrollTo(0, 0);
      claim.querySelector("h2").focus({ preventScroll: true });
    } else if (document.getElementById(name)?.matches("details")) {
      document.getElementById(name).open = true;
      document.getElementById(name).scrollIntoView();
    } else if (current) {
      if (place > 0) window.scrollTo(0, place);
      else document.getElementById("verdicts").scrollIntoView();
      const link = index.querySelector('th a[href="#' + current.id + '"]');
      if (link) link.focus({ preventScroll: true });
    }
    current = claim;
  }

  const closed = [];
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) {
      closed.push(details);
      details.open = true;
    }
  });
  window.addEventListener("afterprint", () => {
    for (const details of closed.splice(0)) details.open = false;
  });

  for (const link of document.querySelectorAll("a[data-show]")) {
    link.addEventListener("click", () => {
      form.reset();
      field("outcome").value = link.dataset.show;
      field("source").value = link.dataset.source;
      filter();
    });
  }
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", show);
  filter();
  show();
})();
