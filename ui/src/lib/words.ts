// Parts of a definition in words. Rules of schedules are worded by the server only; these are its other fields.
import { t } from './text';
import { span, timeSpan } from './time';
import type { Action, Kind, RetryPolicy } from './types';

export const RETRY_COUNT = 4;
export const RETRY_INTERVAL = '00:00:30';

export function kindOf(a: Action | undefined): Kind {
  switch ((a?.type ?? '').toLowerCase()) {
    case 'storagequeue':
      return 'storageQueue';
    case 'servicebusqueue':
      return 'serviceBusQueue';
    case 'servicebustopic':
      return 'serviceBusTopic';
    default:
      return 'http';
  }
}

export function actionWords(a: Action | undefined): string {
  switch (kindOf(a)) {
    case 'http':
      return `${(a?.request?.method ?? '').toUpperCase()} ${a?.request?.uri ?? ''}`.trim();
    case 'storageQueue':
      return t.words.storageQueue(a?.queueMessage?.queueName ?? '', a?.queueMessage?.storageAccount ?? '');
    case 'serviceBusQueue':
      return t.words.busQueue(a?.serviceBusQueueMessage?.queueName ?? '', a?.serviceBusQueueMessage?.namespace ?? '');
    case 'serviceBusTopic':
      return t.words.busTopic(a?.serviceBusTopicMessage?.topicPath ?? '', a?.serviceBusTopicMessage?.namespace ?? '');
  }
}

/** What a message says first: without the headers and the body of the answer. */
export function headline(message: string): string {
  const short = message.split(/ (?:Response Headers|Body):/)[0] ?? message;
  return short.length > 200 ? `${short.slice(0, 200)}…` : short;
}

export function retryWords(r: RetryPolicy | undefined): string {
  if (r?.retryType?.toLowerCase() === 'none') return t.words.noRetry;
  const count = r?.retryCount ?? RETRY_COUNT;
  const ms = timeSpan(r?.retryInterval ?? RETRY_INTERVAL);
  return count === 0 ? t.words.noRetry : t.words.retries(count, ms === null ? (r?.retryInterval ?? '') : span(ms));
}
