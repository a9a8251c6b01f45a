import { describe, expect, it } from 'vitest';
import { withoutSecrets } from './draft';
import { emptyJob, mergePatch, parseText, problemsAt, problemsOf, setKind, toSend } from './model';
import { asJson, asTemplate, gaps, python } from './snippets';
import type { JobProperties } from './types';

const JOB: JobProperties = {
  action: { type: 'Https', request: { method: 'POST', uri: 'https://erp.example.com/x', headers: { Authorization: '********' }, authentication: { type: 'Basic', username: 'scheduler' } }, retryPolicy: { retryType: 'fixed', retryInterval: '00:00:30', retryCount: 4 } },
  recurrence: { frequency: 'week', interval: 1, timeZone: 'Europe/Zurich', schedule: { weekDays: ['monday'], hours: [6, 7], minutes: [0] } },
  state: 'enabled',
};

describe('form and text', () => {
  it('are the same definition: text made of it reads back the same', () => {
    const parsed = parseText(asJson(JOB));
    expect(parsed).toEqual({ ok: true, value: JOB });
  });
  it('a member that the form does not know survives', () => {
    const parsed = parseText('{"properties": {"action": {"type": "Http", "request": {"method": "GET", "uri": "http://h/", "spam": 1}}, "egg": {"a": [1]}}}');
    if (!parsed.ok) throw new Error('it parses');
    expect(toSend(parsed.value)).toEqual({ action: { type: 'Http', request: { method: 'GET', uri: 'http://h/', spam: 1 } }, egg: { a: [1] } });
  });
  it('text that does not parse says where', () => {
    expect(parseText('{\n  "a": 1,\n  "b": }\n}')).toEqual({ ok: false, line: 3, column: 8 });
    expect(parseText('{"a": [1, 2,, 3]}')).toEqual({ ok: false, line: 1, column: 13 });
    expect(parseText('{"a": "x')).toEqual({ ok: false, line: 1, column: 7 });
    expect(parseText('[1]').ok).toBe(false);
  });
});

describe('what is sent', () => {
  it('has only what the unit allows', () => {
    const daily = toSend({ ...JOB, recurrence: { ...JOB.recurrence, frequency: 'day' } });
    expect(daily.recurrence?.schedule).toEqual({ hours: [6, 7], minutes: [0] });
    // The model itself keeps them: another choice of the unit brings them back.
    expect(JOB.recurrence?.schedule?.weekDays).toEqual(['monday']);
  });
  it('has only what the kind of action allows', () => {
    const queue = setKind(JOB.action ?? {}, 'storageQueue');
    expect(queue.request).toBeDefined();
    expect(toSend({ action: { ...queue, queueMessage: { storageAccount: 'a', queueName: 'q', message: 'm' } } }).action).toEqual({ type: 'StorageQueue', queueMessage: { storageAccount: 'a', queueName: 'q', message: 'm' }, retryPolicy: JOB.action?.retryPolicy });
  });
  it('names the protocol that the address has', () => {
    expect(toSend({ action: { type: 'Https', request: { method: 'GET', uri: 'http://h/' } } }).action?.type).toBe('Http');
  });
  it('leaves out what has no value', () => {
    expect(toSend({ ...emptyJob('UTC'), startTime: undefined })).not.toHaveProperty('startTime');
  });
});

describe('a patch', () => {
  it('has only what differs, null for what is gone, and arrays as a whole', () => {
    const to = structuredClone(JOB);
    if (to.recurrence?.schedule) to.recurrence.schedule.hours = [6, 7, 8];
    delete to.action?.retryPolicy;
    expect(mergePatch(JOB, to)).toEqual({ action: { retryPolicy: null }, recurrence: { schedule: { hours: [6, 7, 8] } } });
    expect(mergePatch(JOB, structuredClone(JOB))).toEqual({});
  });
});

describe('problems', () => {
  const problems = [
    { path: 'recurrence.schedule.hours[0]', text: 'must be from 0 to 24' },
    { path: 'action.request.uri', text: 'is missing' },
  ];
  it('stand at their field, and at no other', () => {
    expect(problemsAt(problems, 'recurrence.schedule.hours')).toHaveLength(1);
    expect(problemsAt(problems, 'action.request.uri')).toHaveLength(1);
    expect(problemsAt(problems, 'action.request.ur')).toHaveLength(0);
  });
  it('of a refusal are read from its message', () => {
    expect(problemsOf('properties.action.request.uri: must be absolute; properties.recurrence.interval: must be from 1 to 1000, not 0')).toEqual([
      { path: 'action.request.uri', text: 'must be absolute' },
      { path: 'recurrence.interval', text: 'must be from 1 to 1000, not 0' },
    ]);
    expect(problemsOf('The job is completed.')).toEqual([]);
  });
});

describe('text to copy', () => {
  it('has a gap with a name for each secret', () => {
    expect(gaps(JOB.action)).toEqual(['action.request.authentication.password', 'action.request.headers.Authorization']);
    const template = asTemplate({ subscription: 's', group: 'g', collection: 'c', job: 'j' }, JOB);
    expect(template).toContain(`"password": "[parameters('secret1')]"`);
    expect(template).toContain('securestring');
  });
  it('is Python where it says so', () => {
    expect(python({ a: [1, 2], b: true, c: null })).toBe('{\n    "a": [1, 2],\n    "b": True,\n    "c": None,\n}');
  });
});

it('a draft has no secrets', () => {
  const p: JobProperties = { action: { type: 'Http', request: { uri: 'http://h/', authentication: { type: 'Basic', username: 'u', password: 'hunter2' } }, errorAction: { type: 'StorageQueue', queueMessage: { sasToken: 'sig=x' } } } };
  expect(JSON.stringify(withoutSecrets(p))).not.toMatch(/hunter2|sig=x/);
});
