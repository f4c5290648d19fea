"use strict";

// Keeps the parts of the page that are marked data-live as the server has them now: it asks for the same page again and
// takes over what differs. Everything else, such as what has the focus or was unfolded, stays as it is.
(() => {
  const offline = document.getElementById("offline");
  const parts = (root) => new Map([...root.querySelectorAll("[data-live]")].map((e) => [e.dataset.live, e]));
  const names = (map) => [...map.keys()].join("\n");
  // What the server sent last: the page itself differs from it by what a person unfolds or writes.
  let sent = new Map([...parts(document)].map(([name, part]) => [name, part.innerHTML]));
  let timer;

  // Whoever writes, or has unfolded something to act on, is not to lose it.
  const busy = (root, unfolded) => root.contains(document.activeElement) && document.activeElement instanceof HTMLInputElement ||
    root.querySelector(unfolded) !== null || [...root.querySelectorAll("input")].some((i) => i.value !== i.defaultValue);

  async function refresh() {
    let next;
    try {
      // From the origin: an address that was opened with a password in it may not be fetched.
      const address = location.origin + location.pathname + location.search;
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
    if (next.body.dataset.version !== document.body.dataset.version) {
      location.reload(); // another program: the page needs other files
      return;
    }
    if (names(now) !== names(then)) {
      if (!busy(document, "details.act[open]")) replaceAll(next, then);
      done(next);
      return;
    }
    for (const [name, part] of now) {
      const fresh = then.get(name);
      if (part.className !== fresh.className) part.className = fresh.className;
      if (sent.get(name) === fresh.innerHTML || busy(part, "details[open]")) continue;
      sent.set(name, fresh.innerHTML);
      part.replaceChildren(...fresh.childNodes);
    }
    done(next);
  }

  function done(next) {
    if (document.title !== next.title) document.title = next.title;
    document.body.dataset.refresh = next.body.dataset.refresh;
    plan();
  }

  // Other streams, or the same ones in another order: all of the content is taken over. A link that had the focus keeps it.
  function replaceAll(next, then) {
    sent = new Map([...then].map(([name, part]) => [name, part.innerHTML]));
    const href = document.activeElement?.getAttribute("href");
    const main = document.querySelector("main"), fresh = next.querySelector("main");
    fresh.querySelector("#offline").replaceWith(offline);
    main.replaceChildren(...fresh.childNodes);
    if (href) [...main.querySelectorAll("a")].find((a) => a.getAttribute("href") === href)?.focus();
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
