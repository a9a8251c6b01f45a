// Pages by the history API, relative to the page's base. A link is a plain link: middle click opens a tab.
import { parseRoute, type Route } from './route';

/** The path below the base: `jobs/s/g/c/j`. */
function below(): string {
  const base = new URL(document.baseURI).pathname;
  const path = location.pathname;
  return path.startsWith(base) ? path.slice(base.length) : path.replace(/^\//, '');
}

class Router {
  path = $state(below());
  query = $state.raw(new URLSearchParams(location.search));
  hash = $state(location.hash);
  /** Counts visits, so that a page can tell a new visit of the same address. */
  visit = $state(0);
  route = $derived.by<Route>(() => parseRoute(this.path));
  /** Asked before a page is left; false keeps it. */
  guard: (() => boolean) | null = null;

  start(): void {
    if ('scrollRestoration' in history) history.scrollRestoration = 'auto';
    addEventListener('popstate', () => this.#read());
    addEventListener('hashchange', () => (this.hash = location.hash));
    document.addEventListener('click', (e) => {
      if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
      const a = (e.target as Element | null)?.closest?.('a[href]');
      if (!(a instanceof HTMLAnchorElement) || a.target || a.hasAttribute('download') || a.dataset['external'] !== undefined) return;
      const url = new URL(a.href);
      const base = new URL(document.baseURI);
      if (url.origin !== base.origin || !url.pathname.startsWith(base.pathname)) return;
      if (url.pathname === location.pathname && url.search === location.search && url.hash) return;
      e.preventDefault();
      this.go(url.href);
    });
  }

  #read(): void {
    this.path = below();
    this.query = new URLSearchParams(location.search);
    this.hash = location.hash;
  }

  /** To a page, given relative to the base. */
  go(to: string): void {
    if (this.guard && !this.guard()) return;
    this.guard = null;
    history.pushState(null, '', new URL(to, document.baseURI));
    this.#read();
    this.visit += 1;
    scrollTo(0, 0);
    // Focus follows the reader: the new page's heading is where reading begins.
    setTimeout(() => document.getElementById('main')?.focus({ preventScroll: true }), 0);
  }

  /** Another query of the same page; the address changes, the place does not. */
  setQuery(query: URLSearchParams): void {
    const url = new URL(location.href);
    url.search = query.toString();
    history.replaceState(history.state, '', url);
    this.query = new URLSearchParams(query);
  }

  setHash(hash: string): void {
    const url = new URL(location.href);
    url.hash = hash;
    history.replaceState(history.state, '', url);
    this.hash = url.hash;
  }
}

export const router = new Router();

/** Where the reader is, as a path to come back to after signing in. */
export function here(): string {
  return location.pathname + location.search + location.hash;
}
