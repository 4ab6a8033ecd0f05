// <reviewd-reviews src="https://reviews.example" layout="list" count="3"><a href="https://reviews.example/">Our reviews</a></reviewd-reviews>
// Shows reviews of the service in `src` on a page of another site: no frame, no cookie, nothing stored. Texts are inserted
// as texts, never as HTML. The content of the element is shown until the reviews are there, and if they never come.
(() => {
  'use strict';
  if (customElements.get('reviewd-reviews')) return;

  // In the framed page: tells the page around it how high it is. Around frames: gives them that height.
  if (document.documentElement.classList.contains('reviewd-frame')) {
    const tell = () => parent.postMessage({ reviewd: 'height', height: Math.ceil(document.body.getBoundingClientRect().height) }, '*');
    new ResizeObserver(tell).observe(document.body);
    addEventListener('message', (event) => event.source === parent && event.data && event.data.reviewd === 'height?' && tell());
    return;
  }
  const frames = () => [...document.querySelectorAll('iframe')].filter((frame) => /\/widget\.html(\?|$)/.test(frame.src));
  addEventListener('message', ({ data, source, origin }) => {
    if (!data || data.reviewd !== 'height' || !(data.height > 0)) return;
    const frame = frames().find((frame) => frame.contentWindow === source && new URL(frame.src).origin === origin);
    if (frame) frame.style.height = `${Math.min(data.height, 20000)}px`;
  });
  for (const frame of frames()) frame.contentWindow.postMessage({ reviewd: 'height?' }, '*');

  const SVG = 'http://www.w3.org/2000/svg';
  const LAYOUTS = ['list', 'grid', 'carousel', 'badge', 'wall'];
  const PARAMETERS = { count: 'limit', 'min-rating': 'min_rating', service: 'mentions_service', source: 'source', sort: 'sort' };
  const ROW = 'M12 2.2 14.6 9 21.9 9.4 16.3 14 18.1 21 12 17.1 5.9 21 7.7 14 2.1 9.4 9.4 9Z';
  const ICONS = {
    'i-check': 'M8 1.5a6.5 6.5 0 1 0 .01 0M5 8.2l2.1 2.1L11 6.2',
    'i-open': 'M8 1.5a6.5 6.5 0 1 0 .01 0M5.5 8h5',
    'i-map': 'M8 14.5s4.75-4.2 4.75-8a4.75 4.75 0 0 0-9.5 0c0 3.8 4.75 8 4.75 8zM8 4.9a1.6 1.6 0 1 0 .01 0',
    'i-list': 'M6 4h8M6 8h8M6 12h8M2.2 4h.6M2.2 8h.6M2.2 12h.6',
    'i-board': 'M2 3h12v8H7.5l-3 2.7V11H2z',
    'i-own': 'M2 7.5l6-5 6 5M4 6.5v7h8v-7',
    'i-page': 'M3.5 1.8h6l3 3v9.4h-9zM9 2v3.2h3.2',
  };
  const STYLE = `STYLESHEET`;
  // A service that takes longer is treated like one that is gone.
  const WAIT_MS = 15000;

  const make = (name, options, ...children) => {
    const { part, href, ...attributes } = options;
    const element = document.createElement(name);
    if (part) element.setAttribute('part', part);
    if (href) {
      element.href = href;
      element.rel = 'noopener';
    }
    for (const [key, value] of Object.entries(attributes)) if (value) element.setAttribute(key, value);
    element.append(...children.filter(Boolean));
    return element;
  };
  const draw = (name, attributes, ...children) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const row = (name) => draw('g', { class: name }, ...[0, 24, 48, 72, 96].map((x) => draw('path', { d: ROW, transform: `translate(${x})` })));
  const stars = (width, label) =>
    draw('svg', { class: 'stars', viewBox: '0 0 120 24', role: 'img', 'aria-label': label }, row('off'), draw('svg', { width, height: 24 }, row('on')));
  const icon = (name) => draw('svg', { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, draw('path', { d: ICONS[name] || ICONS['i-page'] }));

  /** Whether a computed color is light, so that the ground of text in it is dark. */
  const isLight = (color) => {
    const [first, second, third] = color.replace(/^color\(\S+/, '').match(/[\d.]+/g).map(Number);
    return color.startsWith('rgb') ? 2 * first + 5 * second + third > 1024 : first > 0.6;
  };

  const textOf = (review, words) => {
    if (!review.head) return make('p', { class: 'only', part: 'text' }, words.rating_only);
    const first = make('p', {}, review.head, review.rest && make('span', { class: 'dots', 'aria-hidden': 'true' }, ' …'));
    const isShort = review.head.length < 140 && !review.photos.length;
    const text = make('div', { class: isShort ? 'text short' : 'text', part: 'text', dir: 'auto', lang: review.language }, first);
    if (review.rest) {
      const summary = make('summary', { lang: words.language }, make('span', { class: 'closed' }, words.read_more), make('span', { class: 'open' }, words.read_less));
      text.append(make('details', {}, summary, make('p', {}, review.rest)));
    }
    return text;
  };
  const photoOf = (review) => {
    const photo = review.photos[0];
    return photo && make('a', { class: 'frame', href: review.url }, make('img', { class: 'photo', part: 'photo', src: photo.url, alt: photo.alt, width: 320, height: 240, loading: 'lazy' }));
  };
  const card = (review, data) => {
    const avatar = review.avatar
      ? make('img', { class: 'avatar', part: 'avatar', src: review.avatar, alt: '', width: 40, height: 40, loading: 'lazy' })
      : make('span', { class: `avatar a${review.tint}`, part: 'avatar', 'aria-hidden': 'true' }, review.initials);
    const date = review.day && make('a', { part: 'date', href: review.url }, make('time', { datetime: review.date }, review.day));
    const by = make('div', { class: 'by' }, avatar, make('h3', { class: 'name', part: 'name' }, make('bdi', {}, review.author)),
      make('div', { class: 'when' }, stars(review.rating * 24, review.stars), date));
    const reply = review.reply && make('div', { class: 'reply', part: 'reply' }, make('b', {}, review.reply.from), make('span', { dir: 'auto' }, review.reply.text));
    const from = make('div', { class: 'from' }, make('span', { part: 'source' }, icon(review.icon), make('bdi', {}, review.source)),
      make('span', { part: 'verified' }, icon(review.is_confirmed ? 'i-check' : 'i-open'), make('bdi', {}, review.check)));
    const photo = photoOf(review);
    return make('li', {}, make('article', { class: photo ? 'review pictured' : 'review', part: 'review' }, by, photo, textOf(review, data.words), reply, from));
  };

  class Reviews extends HTMLElement {
    static observedAttributes = ['src', 'layout', 'lang', ...Object.keys(PARAMETERS)];

    connectedCallback() {
      if (!this.shadowRoot) {
        const root = this.attachShadow({ mode: 'open' });
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(STYLE);
        this.look = new CSSStyleSheet();
        root.adoptedStyleSheets = [this.look, sheet];
        root.append(document.createElement('slot'));
      }
      this.load();
    }

    attributeChangedCallback() { if (this.isConnected && this.shadowRoot) this.load(); }

    /** Loads the reviews. Space is reserved for as many cards as will come, so that the page below does not jump. */
    async load() {
      const turn = (this.turn = (this.turn || 0) + 1);
      const layout = LAYOUTS.includes(this.getAttribute('layout')) ? this.getAttribute('layout') : 'list';
      const box = make('div', { class: `box at-${layout}` });
      const count = Math.min(Math.max(Number(this.getAttribute('count')) || 3, 1), 100);
      try {
        if (!this.hasAttribute('src')) throw new Error('src is missing');
        const target = new URL('widget.json', this.getAttribute('src').replace(/\/?$/, '/'));
        const named = this.closest('[lang]');
        const language = named ? named.getAttribute('lang') : '';
        if (language) target.searchParams.set('lang', language);
        target.searchParams.set('limit', layout === 'badge' ? 1 : count);
        for (const [attribute, parameter] of Object.entries(PARAMETERS)) {
          const value = this.getAttribute(attribute);
          if (value && parameter !== 'limit') target.searchParams.set(parameter, value);
        }
        if (!this.shadowRoot.querySelector('.box')) {
          box.append(document.createElement('slot'), ...(layout === 'badge' ? [] : [make('div', { class: 'reserve', 'aria-hidden': 'true' }, ...Array.from({ length: count }, () => make('i', {})))]));
          this.shadowRoot.replaceChildren(box);
        }
        const reply = await fetch(target, { credentials: 'omit', signal: AbortSignal.timeout(WAIT_MS) });
        const data = await reply.json();
        if (!reply.ok) throw new Error(data.message);
        // A host of files knows no parameters.
        data.reviews.length = Math.min(data.reviews.length, count);
        if (turn === this.turn) this.render(layout, data);
      } catch (error) {
        if (turn !== this.turn) return;
        // The owner's link stays, without the reserved space.
        this.shadowRoot.replaceChildren(document.createElement('slot'));
        console.warn('reviewd-reviews:', error.message);
      }
    }

    /** Sets the owner's accent, for a light or a dark ground, and corners: of this element's service, as a page may have two. */
    dress() {
      const { accent, radius } = this.owner || {};
      const rules = [];
      if (accent) rules.push(`--owner-accent: ${isLight(getComputedStyle(this).color) ? accent.dark : accent.light}`);
      if (radius >= 0 && radius !== null) rules.push(`--owner-radius: ${radius}px`);
      if (this.look) this.look.replaceSync(`:host { ${rules.join('; ')} }`);
    }

    render(layout, data) {
      this.owner = data.look;
      this.dress();
      const box = make('div', { class: `box at-${layout}`, lang: data.words.language, dir: data.words.direction });
      for (const name of ['previous', 'next']) box.style.setProperty(`--${name}`, JSON.stringify(data.words[name]));
      // The reserved space stays: what is below moves down at most, never up.
      const reserved = this.shadowRoot.querySelector('.reserve');
      if (reserved) box.style.minBlockSize = `${reserved.parentNode.offsetHeight}px`;
      const mean = data.mean && make(layout === 'badge' ? 'b' : 'span', { class: 'mean', part: 'score', 'aria-hidden': 'true' }, data.mean.number);
      const drawn = data.mean && stars(data.mean.width, data.mean.label);
      if (layout === 'badge') {
        const count = make('span', { class: 'count', part: 'count' }, data.count);
        box.append(make('a', { class: 'badge', part: 'badge', href: data.url }, mean, drawn, count));
      } else {
        box.append(make('div', { class: 'head', part: 'header' }, mean, drawn, make('a', { part: 'count', href: data.url }, data.count)));
        const list = make('ul', { class: 'reviews', part: 'list' }, ...data.reviews.map((review) => card(review, data)));
        if (!data.reviews.length) box.append(make('p', { class: 'note', part: 'note' }, data.words.none));
        else if (layout === 'carousel') box.append(make('div', { class: 'track', tabindex: '0', role: 'region', 'aria-label': data.words.reviews }, list));
        else box.append(list);
        box.append(make('p', { class: 'all' }, make('a', { part: 'all', href: data.url }, data.all)));
        if (data.note) box.append(make('p', { class: 'note', part: 'note' }, data.note));
        if (data.disclaimer) box.append(make('p', { class: 'note', part: 'note', dir: 'auto' }, data.disclaimer));
      }
      this.shadowRoot.replaceChildren(box);
    }
  }
  customElements.define('reviewd-reviews', Reviews);
  // A page may have other colors now.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const element of document.querySelectorAll('reviewd-reviews')) element.dress();
  });
})();
