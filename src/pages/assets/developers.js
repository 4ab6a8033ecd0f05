// Copies and tries the examples. Everything can be read, and most of it sent, without this file.
(() => {
  'use strict';
  const status = document.getElementById('status');
  /** Characters of an answer that are shown; the rest is only counted. */
  const SHOWN_MAX = 20000;

  const make = (name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    element.textContent = text;
    return element;
  };

  const select = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };

  for (const block of document.querySelectorAll('.code')) {
    const code = block.querySelector('code');
    const button = make('button', 'copy', 'Copy');
    button.type = 'button';
    button.setAttribute('aria-label', 'Copy: ' + block.querySelector('.label').textContent);
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = 'Copied';
        status.textContent = 'Copied';
        setTimeout(() => { button.textContent = 'Copy'; }, 2000);
      } catch {
        // Not allowed, or no secure page: at least it is marked.
        select(code);
        status.textContent = 'Selected; copy it with the keyboard';
      }
    });
    block.append(button);
  }

  /** The address and what goes with it, from the fields of a form; empty ones are left out. */
  const asked = (form) => {
    let path = form.dataset.path;
    const values = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (path.includes('{' + name + '}')) path = path.replace('{' + name + '}', encodeURIComponent(value));
      else if (value) values.append(name, value);
    }
    const message = form.querySelector('textarea');
    if (message) {
      const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
      return [path, { method: 'POST', headers, body: message.value }];
    }
    if (form.method === 'post') return [path, { method: 'POST', body: values }];
    const query = values.toString();
    return [query ? path + '?' + query : path, {}];
  };

  const readable = (text) => {
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* no JSON, or not only */ }
    const rest = shown.length - SHOWN_MAX;
    return rest > 0 ? shown.slice(0, SHOWN_MAX) + '\n… and ' + rest + ' more characters' : shown;
  };

  for (const form of document.querySelectorAll('form.try')) {
    form.hidden = false;
    const output = make('pre', 'output', '');
    output.hidden = true;
    output.tabIndex = -1;
    // Not `form.after`: a field with the name of a property, as the log of changes has, takes its place.
    form.parentNode.append(output);
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const [target, options] = asked(form);
      const begun = performance.now();
      try {
        const reply = await fetch(target, options);
        const text = await reply.text();
        const spent = Math.round(performance.now() - begun);
        const fields = [...reply.headers].map(([name, value]) => name + ': ' + value).join('\n');
        const line = (options.method || 'GET') + ' ' + target + '\n' + reply.status + ' ' + reply.statusText;
        output.textContent = line + ' · ' + spent + ' ms\n' + fields + '\n\n' + readable(text);
        status.textContent = 'Response: ' + reply.status;
      } catch (error) {
        output.textContent = 'No response: ' + error.message;
        status.textContent = output.textContent;
      }
      output.hidden = false;
      output.focus({ preventScroll: true });
    });
  }
})();
