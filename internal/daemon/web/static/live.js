"use strict";

// Keeps the parts of the page that are marked data-live as the server has them now: it asks for the same page again and
// takes over what differs. Everything else, such as what has the focus or was unfolded, stays as it is.
(() => {
  const offline = document.getElementById("offline");
  const parts = (root) => new Map([...root.querySelectorAll("[data-live]")].map((e) => [e.dataset.live, e]));
  const names = (map) => [...map.keys()].join("\n");
  let timer;

  // Whoever writes, or has unfolded something to act on, is not to lose it.
  const busy = () => document.activeElement instanceof HTMLInputElement || document.querySelector("details.act[open]") !== null;

  async function refresh() {
    let next;
    try {
      const address = location.pathname + location.search;
      const answer = await fetch(address, { cache: "no-store", signal: AbortSignal.timeout(20000) });
      if (!answer.ok) throw new Error(answer.statusText);
      next = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      offline.hidden = false;
      plan();
      return;
    }
    offline.hidden = true;
    const now = parts(document), then = parts(next);
    if (next.body.dataset.version !== document.body.dataset.version || names(now) !== names(then)) {
      if (busy()) {
        plan();
        return;
      }
      location.reload(); // another program, other streams or another order: the page is a different one
      return;
    }
    for (const [name, part] of now) {
      const fresh = then.get(name);
      if (part.className !== fresh.className) part.className = fresh.className;
      if (part.innerHTML !== fresh.innerHTML) part.replaceChildren(...fresh.childNodes);
    }
    if (document.title !== next.title) document.title = next.title;
    document.body.dataset.refresh = next.body.dataset.refresh;
    plan();
  }

  function plan() {
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(refresh, Number(document.body.dataset.refresh));
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden) refresh();
  });
  plan();
})();
