import { expect, it } from 'vitest';
import { jobPage, parseId, shortScope } from './names';
import { filterQuery, parseFilter, parseRoute } from './route';
import { covers, may, roleOn } from './roles';

it('an address is a page, and what is none is unknown', () => {
  expect(parseRoute('')).toEqual({ page: 'overview' });
  expect(parseRoute('jobs')).toEqual({ page: 'jobs' });
  expect(parseRoute('jobs/s/g/c/edit')).toEqual({ page: 'job', name: { subscription: 's', group: 'g', collection: 'c', job: 'edit' } });
  expect(parseRoute('jobs/s/g/c/j/edit').page).toBe('editJob');
  expect(parseRoute('collections/s/g/c/new').page).toBe('newJob');
  expect(parseRoute('collections/new').page).toBe('newCollection');
  expect(parseRoute('jobs/s/g').page).toBe('unknown');
  expect(parseRoute('%')).toEqual({ page: 'unknown' });
});

it('a name with a slash or a space survives its address', () => {
  const name = { subscription: 's', group: 'a b', collection: 'c/d', job: 'ä?#' };
  expect(parseRoute(jobPage(name))).toEqual({ page: 'job', name });
});

it('a resource id is read in any letter case', () => {
  expect(parseId('/Subscriptions/s/resourcegroups/g/providers/microsoft.scheduler/jobcollections/c/jobs/j')).toEqual({ subscription: 's', group: 'g', collection: 'c', job: 'j' });
  expect(parseId('/subscriptions/s')).toBeNull();
  expect(shortScope('/subscriptions/s/resourceGroups/g')).toBe('s / g');
});

it('a filter is in the query, and what is usual is left out of it', () => {
  const f = parseFilter(new URLSearchParams('q=inv&state=Disabled&sort=name&sub=prod&type=http'));
  expect(f).toMatchObject({ q: 'inv', state: 'Disabled', sort: 'name', scope: '/subscriptions/prod', kind: 'http', failing: false });
  expect(filterQuery({ q: '', sort: 'next', failing: true }, new URLSearchParams('q=x&sort=name&tz=utc')).toString()).toBe('tz=utc&failing=true');
});

it('a role holds in its scope and below, by whole segments', () => {
  const grants = [{ role: 'operator' as const, scope: '/subscriptions/prod' }];
  expect(covers('/subscriptions/prod', '/Subscriptions/PROD/resourceGroups/g')).toBe(true);
  expect(covers('/subscriptions/prod', '/subscriptions/prod2')).toBe(false);
  expect(may(grants, 'operator', '/subscriptions/prod/resourceGroups/g')).toBe(true);
  expect(may(grants, 'contributor', '/subscriptions/prod')).toBe(false);
  expect(roleOn(grants, '/subscriptions/test')).toBeNull();
});
