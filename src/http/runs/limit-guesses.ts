import type { ConversationService } from '../../contract/conversation.ts'
import { isObject } from '../../contract/json.ts'
import { RateWindow } from '../../contract/rate-window.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import type { EdgeContext } from '../request-context.ts'
import { Problem } from '../problem.ts'
import { reachObject } from './reach-object.ts'

/** The most requests of one key for conversations that do not exist, in a minute and in one isolate. */
const MOST_GUESSES = 100
const WINDOW_MS = 60_000
/** The most conversations that an isolate remembers to exist. */
const MOST_REMEMBERED = 10_000

/**
 * Returns a conversation that counts how often its caller's key asks for conversations that do not exist: the platform
 * starts an object, with a database, for every id that is asked for. Throws a Problem 429 before an object is started
 * once the key has done so 100 times in a minute; requests for conversations that this isolate knows are still
 * answered.
 */
export function limitGuesses(
  { setup, caller }: EdgeContext,
  name: string,
  stub: () => ConversationService,
): ConversationService {
  const { byKey, existing } = (setup.isolate.guesses ??= {
    byKey: new RateWindow({ most: MOST_GUESSES, windowMs: WINDOW_MS }),
    existing: new RecentMap({ most: MOST_REMEMBERED }),
  })
  const key = `${caller.tenant}/${caller.key ?? ''}`
  const waitMs = byKey.waitMs(key)
  if (waitMs > 0 && !existing.get(name)) {
    throw new Problem({
      status: 429,
      code: 'too_many_unknown',
      message: `This key has asked for ${MOST_GUESSES} conversations or runs that do not exist within a minute.`,
      retryAfterMs: waitMs,
      extra: { limit: MOST_GUESSES },
    })
  }
  const note = (method: unknown, reply: unknown) => {
    if (!isObject(reply)) return
    if (reply['code'] === 'unknown_conversation') {
      // A request reads the settings first. If it then creates the conversation, it was not a guess.
      if (method !== 'settings') byKey.count(key)
    } else if (reply['ok'] === true) {
      existing.set(name, true)
    }
  }
  return new Proxy(stub(), {
    get: (first, method) => {
      if (typeof Reflect.get(first, method) !== 'function') return Reflect.get(first, method)
      return async (...args: unknown[]) => {
        let service: ConversationService | undefined = first
        const send = async (): Promise<unknown> => {
          // The stub of a lost object stays broken.
          const target = service ?? stub()
          service = undefined
          return Reflect.apply(Reflect.get(target, method), target, args)
        }
        const reply = await reachObject(String(method), send, setup.report)
        note(method, reply)
        return reply
      }
    },
  })
}
