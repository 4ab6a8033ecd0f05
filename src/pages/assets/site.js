// What the pages can do only with a script; everything else works without it.
(() => {
  'use strict';
  const language = document.documentElement.lang;
  const byId = (id) => document.getElementById(id);

  /** How long ago each day was, before the day: no document contains the clock. */
  const showAges = (root) => {
    const units = [['year', 365.25], ['month', 30.44], ['week', 7], ['day', 1]];
    // "Yesterday" is a word of its own, but "last year" would be said of thirteen months as well.
    const ofDays = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
    const ofMore = new Intl.RelativeTimeFormat(language);
    for (const time of root.querySelectorAll('time[data-ago]')) {
      time.removeAttribute('data-ago');
      const [year, month, day] = time.dateTime.split('-').map(Number);
      const now = new Date();
      const days = Math.round((Date.UTC(now.getFullYear(), now.getMonth(), now.getDate()) - Date.UTC(year, month - 1, day)) / 864e5);
      // A day in the future is that of another time zone.
      if (days < 0) continue;
      const [unit, length] = units.find(([, length]) => days >= length) || ['day', 1];
      const ago = document.createElement('span');
      ago.className = 'ago';
      ago.textContent = (unit === 'day' ? ofDays : ofMore).format(-Math.floor(days / length), unit);
      time.prepend(ago, ' ');
    }
  };
  showAges(document);

  // The page of a review: buttons that only some browsers can have.
  const link = document.querySelector('.share input');
  const copy = document.querySelector('[data-copy]');
  const share = document.querySelector('[data-share]');
  if (copy && navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener('click', async () => {
      await navigator.clipboard.writeText(link.value);
      copy.lastElementChild.textContent = copy.dataset.copy;
    });
  }
  if (share && navigator.share) {
    share.hidden = false;
    share.addEventListener('click', () => navigator.share({ url: link.value }).catch(() => {}));
  }

  // Menus close by Escape and by a click elsewhere.
  const closeMenus = (except) => {
    for (const menu of document.querySelectorAll('details[name=menu][open]')) if (menu !== except) menu.open = false;
  };
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    const menu = event.target.closest && event.target.closest('details[name=menu][open]');
    closeMenus();
    if (menu) menu.querySelector('summary').focus();
  });
  document.addEventListener('click', (event) => closeMenus(event.target.closest && event.target.closest('details[name=menu]')));

  if (!byId('results') || !window.fetch || !window.DOMParser) return;
  let running = null;
  let shown = location.pathname + location.search;

  /** Fetches the page at `url`; null if a later request has replaced this one. */
  const load = async (url) => {
    if (running) running.abort();
    const mine = (running = new AbortController());
    byId('results').setAttribute('aria-busy', 'true');
    try {
      const reply = await fetch(url, { signal: mine.signal, headers: { Accept: 'text/html' } });
      const fresh = new DOMParser().parseFromString(await reply.text(), 'text/html');
      if (mine !== running) return null;
      if (!fresh.getElementById('results')) throw new Error('not a page of ours');
      return fresh;
    } catch (error) {
      if (error.name !== 'AbortError') location.assign(url);
      return null;
    }
  };

  const swap = (id, fresh) => {
    const next = fresh.getElementById(id);
    if (next && byId(id)) byId(id).replaceWith(document.adoptNode(next));
  };

  /** Shows the list of `url` in place; `how` is push or replace for the history, '' when the history itself asked. */
  const show = async (url, how, isTyping) => {
    const fresh = await load(url);
    if (!fresh) return false;
    swap('results', fresh);
    if (isTyping) swap('order', fresh); else swap('tools', fresh);
    showAges(byId('results'));
    document.title = fresh.title;
    const found = byId('found');
    byId('status').textContent = found ? found.textContent : '';
    if (how) history[how + 'State'](null, '', url);
    shown = location.pathname + location.search;
    return true;
  };

  /** Appends the next reviews and moves the focus to the first of them. */
  const append = async (url) => {
    const fresh = await load(url);
    if (!fresh) return;
    const items = [...fresh.querySelectorAll('#list > li')];
    byId('list').append(...items.map((item) => document.adoptNode(item)));
    showAges(byId('list'));
    const next = fresh.querySelector('#more [rel=next]');
    const button = document.querySelector('#more [rel=next]');
    const count = document.querySelector('#more .soft');
    if (count) count.remove();
    if (next) button.replaceWith(document.adoptNode(next)); else byId('more').remove();
    byId('results').removeAttribute('aria-busy');
    const first = items[0] && items[0].querySelector('h3');
    if (first) { first.tabIndex = -1; first.focus({ preventScroll: true }); }
  };

  const toHeading = () => {
    const heading = byId('reviews');
    heading.focus({ preventScroll: true });
    const { top } = heading.getBoundingClientRect();
    if (top >= 0 && top < innerHeight * 0.6) return;
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    heading.scrollIntoView({ behavior: calm ? 'auto' : 'smooth', block: 'start' });
  };

  const asked = () => {
    const values = new URLSearchParams();
    for (const [name, value] of new FormData(byId('search'))) if (value) values.append(name, value);
    const query = values.toString();
    return query ? '/?' + query : '/';
  };

  /** Typing a word leaves one entry in the history, not one for each letter. */
  let isTyping = false;
  let timer = 0;
  document.addEventListener('input', (event) => {
    if (event.target.id !== 'words') return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const how = isTyping ? 'replace' : 'push';
      isTyping = true;
      show(asked(), how, true);
    }, 250);
  });
  document.addEventListener('focusout', (event) => {
    if (event.target.id === 'words') isTyping = false;
  });
  document.addEventListener('submit', async (event) => {
    if (event.target.id !== 'search') return;
    event.preventDefault();
    clearTimeout(timer);
    isTyping = false;
    if (await show(asked(), 'push', true)) { closeMenus(); toHeading(); }
  });
  document.addEventListener('click', async (event) => {
    const target = event.target.closest && event.target.closest('a[href]');
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!target || !plain || event.defaultPrevented || target.origin !== location.origin || target.pathname !== '/') return;
    if (target.getAttribute('href').startsWith('#') || target.hreflang) return;
    event.preventDefault();
    if (target.rel === 'next') { append(target.href); return; }
    if (await show(target.href.split('#')[0], 'push', false)) toHeading();
  });
  addEventListener('popstate', () => {
    // A jump within the page is in the history too.
    if (location.pathname + location.search !== shown) show(location.href, '', false);
  });
})();
