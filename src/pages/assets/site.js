// What the pages can do only with a script; everything else works without it.
(() => {
  'use strict';
  const language = document.documentElement.lang;

  /** How long ago each day was, beside the day: no document contains the clock. */
  const showAges = (root) => {
    const units = [['year', 365.25], ['month', 30.44], ['week', 7], ['day', 1]];
    const words = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
    for (const time of root.querySelectorAll('time[data-ago]')) {
      time.removeAttribute('data-ago');
      const [year, month, day] = time.dateTime.split('-').map(Number);
      const now = new Date();
      const days = Math.round((Date.UTC(year, month - 1, day) - Date.UTC(now.getFullYear(), now.getMonth(), now.getDate())) / 864e5);
      // A day in the future is that of another time zone.
      if (days > 0) continue;
      const [unit, length] = units.find(([, length]) => -days >= length) || ['day', 1];
      const ago = document.createElement('span');
      ago.className = 'ago';
      ago.textContent = words.format(-Math.floor(-days / length), unit);
      time.prepend(ago, ' ');
    }
  };
  showAges(document);

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
})();
