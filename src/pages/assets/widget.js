// <reviewd-reviews count="3" min-rating="4" service="probate"></reviewd-reviews>
// Shows reviews on a page of another site: no frame, no cookie, nothing kept. The texts go in as texts, never as HTML.
(() => {
  'use strict';
  const from = document.currentScript && new URL(document.currentScript.src).origin;
  // The text takes the page's own color, so that it can be read wherever the page can.
  const style = `:host{display:block;container-type:inline-size;--star:#b3730b;--off:#ddd8ce;
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){:host([theme=auto]){--star:#e9b04a;--off:#4a5359}}
:host([theme=dark]){--star:#e9b04a;--off:#4a5359}
p,ol,blockquote{margin:0;padding:0}ol{list-style:none}a{color:inherit}
.mean{display:flex;flex-wrap:wrap;gap:.2rem .5rem;align-items:baseline;margin-bottom:.75rem}
li{border-top:1px solid;border-color:color-mix(in srgb,currentColor 20%,transparent);padding:.75rem 0}
.by,.note{font-size:.875rem;color:inherit;color:color-mix(in srgb,currentColor 85%,transparent)}
.by{display:flex;flex-wrap:wrap;gap:.2rem .5rem}blockquote{margin-top:.3rem;white-space:pre-line}
.stars{letter-spacing:.05em}.on{color:var(--star)}.off{color:var(--off)}`;

  const make = (name, className, ...children) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    element.append(...children);
    return element;
  };
  const stars = (rating) => {
    const whole = Math.max(0, Math.min(5, Math.round(rating)));
    const row = make('span', 'stars', make('span', 'on', '★'.repeat(whole)), make('span', 'off', '★'.repeat(5 - whole)));
    row.setAttribute('role', 'img');
    row.setAttribute('aria-label', rating + ' of 5 stars');
    return row;
  };
  const link = (href, text) => {
    const anchor = make('a', '', text);
    anchor.href = href;
    anchor.rel = 'noopener';
    return anchor;
  };

  class Reviews extends HTMLElement {
    static observedAttributes = ['count', 'min-rating', 'service', 'src'];

    connectedCallback() { this.load(); }

    attributeChangedCallback() { if (this.isConnected && this.shadowRoot) this.load(); }

    async load() {
      const root = this.shadowRoot || this.attachShadow({ mode: 'open' });
      if (!root.adoptedStyleSheets.length) {
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(style);
        root.adoptedStyleSheets = [sheet];
      }
      const turn = (this.turn = (this.turn || 0) + 1);
      const base = this.getAttribute('src') || from;
      try {
        const search = new URL('/api/reviews/search', base);
        search.searchParams.set('limit', this.getAttribute('count') || '3');
        for (const [attribute, parameter] of [['min-rating', 'min_rating'], ['service', 'mentions_service']]) {
          const value = this.getAttribute(attribute);
          if (value) search.searchParams.set(parameter, value);
        }
        const [found, practice] = await Promise.all([search, new URL('/reviews.jsonld', base)].map(async (url) => {
          const reply = await fetch(url, { credentials: 'omit' });
          const body = await reply.json();
          if (!reply.ok) throw new Error(body.message);
          return body;
        }));
        if (turn === this.turn) this.render(root, base, found.reviews, practice);
      } catch (error) {
        if (turn !== this.turn) return;
        root.replaceChildren(make('p', 'note', 'The reviews cannot be shown: ' + error.message));
      }
    }

    render(root, base, reviews, practice) {
      const total = practice.aggregateRating;
      const parts = [];
      if (total) {
        const mean = total.ratingValue.toFixed(1);
        const all = total.ratingCount.toLocaleString('en') + (total.ratingCount === 1 ? ' review' : ' reviews');
        parts.push(make('p', 'mean', make('strong', '', mean), stars(mean), link(new URL('/', base), all)));
      }
      const list = make('ol', '');
      for (const review of reviews) {
        const date = make('time', '', review.date);
        date.dateTime = review.date;
        const item = make('li', '', make('p', 'by', stars(review.rating), make('bdi', '', review.author), date));
        if (review.text) {
          const words = make('blockquote', '', review.text);
          words.dir = 'auto';
          item.append(words);
        }
        list.append(item);
      }
      parts.push(reviews.length ? list : make('p', 'note', 'No reviews to show.'));
      const disclaimer = practice.subjectOf && practice.subjectOf.text;
      if (disclaimer) {
        const words = make('p', 'note', disclaimer);
        words.dir = 'auto';
        parts.push(words);
      }
      root.replaceChildren(...parts);
    }
  }
  if (!customElements.get('reviewd-reviews')) customElements.define('reviewd-reviews', Reviews);
})();
