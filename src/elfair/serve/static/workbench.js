// What pages do while somebody works in them: checks of a form as it is filled in, completion, the
// command line that a form would run, a job's progress, uploads, and the walk along a ladder. Pages
// work without it, except for progress and uploads.
"use strict";

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const key = document.body.dataset.key;
const later = (wait, action) => {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(action, wait); };
};
const sent = async (path, form, accept) => {
  const answer = await fetch(path, {
    method: "POST",
    headers: { accept },
    body: new URLSearchParams(new FormData(form)),
  });
  return answer;
};

// -- a form that says what saving would do ---------------------------------------------------------

for (const form of all("form[data-live]")) {
  const target = document.getElementById(form.dataset.target);
  let asked = 0;
  const ask = async () => {
    const turn = ++asked;
    const answer = await sent(form.dataset.live, form, "application/json").catch(() => null);
    if (turn !== asked || answer === null || !answer.ok) return;
    const said = await answer.json();
    target.innerHTML = said.html; // made by the server's templates, which escape every value
    (said.readings || []).forEach((words, k) => {
      const place = document.getElementById(`reading-${k}`);
      if (place && place.textContent !== words) place.textContent = words;
    });
  };
  form.addEventListener("input", later(250, ask));
  form.addEventListener("change", later(50, ask));
}

// -- the command that a form would run -------------------------------------------------------------

for (const form of all("form[data-line]")) {
  const place = form.querySelector(".command code");
  const show = async () => {
    const answer = await sent("/line", form, "text/plain").catch(() => null);
    if (answer) place.textContent = (await answer.text()).trim();
  };
  form.addEventListener("input", later(150, show));
  show();
}

for (const form of all('form[action="/run"]')) {
  form.addEventListener("submit", () => all("button", form).forEach((b) => { b.disabled = true; }));
}
// A page that comes back from the browser's memory has an old number for its command.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

// -- constraints: only the fields of their kind ----------------------------------------------------

const AMOUNTS = {
  no_worse: "Slack", improvement: "Margin", decline: "At most", disparate_impact: "Ratio",
};
for (const box of all("[data-constraint]")) {
  const kind = box.querySelector("[data-kind]");
  const show = () => {
    const how = kind.value === "text" ? "text" : kind.value ? "name" : "";
    for (const field of all("[data-for]", box)) field.hidden = field.dataset.for !== how;
    box.querySelector("[data-amount]").textContent = AMOUNTS[kind.value] || "Tolerance";
  };
  kind.addEventListener("change", show);
  show();
}

// -- completion ------------------------------------------------------------------------------------

const PART = /(`[^`]*|[^\s()[\]|,+*/<>=!-]+[[]?)$/;
for (const [number, input] of all("input[data-complete]").entries()) {
  const words = all(`#${input.dataset.complete} li`).map((each) => each.textContent);
  const list = document.createElement("ul");
  const box = document.createElement("div");
  box.className = "complete";
  input.before(box);
  box.append(input, list);
  Object.assign(list, { id: `options-${number}`, className: "options", hidden: true });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Completions");
  for (const [name, value] of Object.entries({
    role: "combobox", "aria-autocomplete": "list", "aria-controls": list.id, "aria-expanded": "false",
  })) input.setAttribute(name, value);

  let at = -1;
  const close = () => {
    list.hidden = true;
    list.replaceChildren();
    at = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const part = () => (PART.exec(input.value.slice(0, input.selectionStart)) || [""])[0];
  const take = (word) => {
    const end = input.selectionStart;
    const start = end - part().length;
    input.setRangeText(word, start, end, "end");
    close();
    input.dispatchEvent(new Event("input", { bubbles: true }));
    close();
  };
  const mark = (next) => {
    at = (next + list.children.length) % list.children.length;
    [...list.children].forEach((each, k) => each.setAttribute("aria-selected", String(k === at)));
    input.setAttribute("aria-activedescendant", list.children[at].id);
    list.children[at].scrollIntoView({ block: "nearest" });
  };
  const open = () => {
    const begun = part().replace(/^`/, "").toLowerCase();
    const found = begun
      ? words.filter((word) => word.replace(/^`/, "").toLowerCase().startsWith(begun) && word !== part())
      : [];
    close();
    if (!found.length) return;
    list.replaceChildren(...found.slice(0, 12).map((word, k) => {
      const option = document.createElement("li");
      option.textContent = word;
      option.id = `${list.id}-${k}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.addEventListener("mousedown", (event) => { event.preventDefault(); take(word); });
      return option;
    }));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  };
  input.addEventListener("input", (event) => { if (event.isTrusted) open(); });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "ArrowDown") mark(at + 1);
    else if (event.key === "ArrowUp") mark(at < 0 ? -1 : at - 1);
    else if (event.key === "Escape") close();
    else if (event.key === "Enter" && at >= 0) take(list.children[at].textContent);
    else return;
    event.preventDefault();
  });
}

// -- a job that runs -------------------------------------------------------------------------------

for (const place of all("[data-events]")) {
  const told = new EventSource(place.dataset.events);
  const bar = place.querySelector("progress");
  addEventListener("pagehide", () => told.close());
  told.onmessage = (event) => {
    const { state, seconds, done, told: words, log } = JSON.parse(event.data);
    place.querySelector("[data-seconds]").textContent = seconds;
    place.querySelector("[data-state]").textContent = "Running.";
    if (done !== null) [bar.max, bar.value] = [1, done];
    else if (bar.hasAttribute("max")) bar.value = Math.min(seconds, 0.97 * bar.max);
    place.querySelector("[data-told]").textContent = words;
    const shown = place.querySelector("[data-log]");
    if (shown.textContent !== log) { shown.textContent = log; shown.scrollTop = shown.scrollHeight; }
    if (state === "running") return;
    told.close();
    location.reload();
  };
  told.onerror = () => {
    place.querySelector("[data-state]").textContent =
      "The server does not answer. The command goes on; this page looks again by itself.";
  };
}

// -- files that come through the browser -----------------------------------------------------------

for (const input of all("input[data-upload]")) {
  const said = document.getElementById(`${input.id}-said`);
  input.addEventListener("change", async () => {
    const [file] = input.files;
    if (!file) return;
    said.textContent = `Copying ${file.name} ...`;
    try {
      const answer = await fetch(`${input.dataset.upload}?name=${encodeURIComponent(file.name)}`, {
        method: "POST",
        headers: { "x-elfair-key": key, accept: "text/plain", "content-type": "application/octet-stream" },
        body: file,
      });
      if (!answer.ok) { said.textContent = await answer.text(); return; }
      const { name, at } = await answer.json();
      if (input.dataset.then === "reload") location.assign(`${location.pathname}?people=${encodeURIComponent(name)}`);
      else location.assign(at);
    } catch {
      said.textContent = "The file could not be sent: it is too large, or the server has ended.";
    }
  });
}

// -- the walk along a ladder -----------------------------------------------------------------------

for (const place of all("[data-ladder]")) {
  const models = JSON.parse(place.dataset.ladder);
  const walk = place.querySelector("input[type=range]");
  const show = () => {
    const model = models[walk.value];
    place.querySelector("[data-place]").textContent = model.place;
    place.querySelector("[data-fate]").textContent = model.fate;
    walk.setAttribute("aria-valuetext", `model ${model.place}, ${model.fate}`);
    all("[data-value]", place).forEach((each, k) => { each.textContent = model.values[k]; });
    for (const line of all("line.cursor", place)) {
      line.setAttribute("x1", model.x);
      line.setAttribute("x2", model.x);
    }
  };
  walk.addEventListener("input", show);
  show();
}
