// Searching without loading the page anew. Everything works without this file: it fetches the same pages from the same
// addresses and puts the part with the reviews in place of the one that is shown.
(() => {
  'use strict';
  const byId = (id) => document.getElementById(id);
  if (!byId('search') || !window.fetch || !window.DOMParser) return;
  let running = null;
  let shown = location.pathname + location.search;
  let timer = 0;

  /** The address of what the form holds; empty fields and the default order are left out. */
  const asked = () => {
    const values = new URLSearchParams();
    for (const [name, value] of new FormData(byId('search'))) {
      if (value && !(name === 'sort' && value === 'newest')) values.append(name, value);
    }
    const query = values.toString();
    return query ? '/?' + query : '/';
  };

  const swap = (id, fresh) => {
    const next = fresh.getElementById(id);
    if (next) byId(id).replaceWith(document.adoptNode(next));
  };

  /** Shows the page at `url`; `how` is push or replace for the history, nothing when the history itself asked. */
  const show = async (url, how, keepForm) => {
    clearTimeout(timer);
    if (running) running.abort();
    const mine = (running = new AbortController());
    byId('content').setAttribute('aria-busy', 'true');
    try {
      const reply = await fetch(url, { signal: mine.signal, headers: { Accept: 'text/html' } });
      const fresh = new DOMParser().parseFromString(await reply.text(), 'text/html');
      if (mine !== running) return false;
      if (!fresh.getElementById('content')) throw new Error('not a page of ours');
      swap('content', fresh);
      if (!keepForm) swap('search', fresh);
      document.title = fresh.title;
      if (how) history[how + 'State'](null, '', url);
      shown = location.pathname + location.search;
      const heading = byId('content').querySelector('h2');
      byId('status').textContent = heading ? heading.textContent : '';
    } catch (error) {
      if (error.name === 'AbortError') return false;
      location.assign(url);
    }
    return true;
  };

  /** Goes to the results where they are out of sight, as on a phone, where the form fills the screen. */
  const goToResults = () => {
    const content = byId('content');
    if (content.getBoundingClientRect().top < innerHeight * 0.6) return;
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    content.focus({ preventScroll: true });
    content.scrollIntoView({ behavior: calm ? 'auto' : 'smooth', block: 'start' });
  };

  /** Marks the start of one search, so that typing a word leaves one entry in the history, not one for each letter. */
  let typing = false;

  document.addEventListener('input', (event) => {
    if (event.target.id !== 'words') return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const how = typing ? 'replace' : 'push';
      typing = true;
      show(asked(), how, true);
    }, 250);
  });
  document.addEventListener('focusout', (event) => {
    if (event.target.id === 'words') typing = false;
  });
  document.addEventListener('change', async (event) => {
    const form = event.target.form;
    if (!form || form.id !== 'search' || event.target.id === 'words') return;
    if (await show(asked(), 'push', true)) goToResults();
  });
  document.addEventListener('submit', async (event) => {
    if (event.target.id !== 'search') return;
    event.preventDefault();
    typing = false;
    if (await show(asked(), 'push', true)) goToResults();
  });
  document.addEventListener('click', async (event) => {
    const link = event.target.closest && event.target.closest('a[href]');
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || event.defaultPrevented || link.origin !== location.origin || link.pathname !== '/') return;
    if (link.getAttribute('href').startsWith('#')) return;
    event.preventDefault();
    typing = false;
    if (await show(link.href, 'push', false)) {
      byId('content').focus({ preventScroll: true });
      const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
      byId('content').scrollIntoView({ behavior: calm ? 'auto' : 'smooth', block: 'start' });
    }
  });
  addEventListener('popstate', () => {
    // A jump within the page is in the history too.
    if (location.pathname + location.search !== shown) show(location.href, '', false);
  });
})();
