// The places of the bar, and to which of them a page belongs.
import type { IconName } from '../components/Icon.svelte';
import type { Route } from './route';
import { t } from './text';

export type Place = 'overview' | 'jobs' | 'timetable' | 'cluster';

export function places(many: boolean): { id: Place; href: string; text: string; icon: IconName }[] {
  return [
    { id: 'overview', href: './', text: t.page.overview, icon: 'overview' },
    { id: 'jobs', href: 'jobs', text: t.page.jobs, icon: 'jobs' },
    { id: 'timetable', href: 'timetable', text: t.page.timetable, icon: 'timetable' },
    { id: 'cluster', href: 'cluster', text: many ? t.page.cluster : t.page.server, icon: 'cluster' },
  ];
}

export function placeOf(page: Route['page']): Place | null {
  switch (page) {
    case 'overview':
    case 'timetable':
    case 'cluster':
      return page;
    case 'jobs':
    case 'job':
    case 'collection':
    case 'collections':
    case 'newCollection':
    case 'editCollection':
    case 'newJob':
    case 'editJob':
    case 'bulk':
      return 'jobs';
    default:
      return null;
  }
}
