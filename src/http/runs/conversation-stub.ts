import { termsOfCaller } from '../../contract/caller-terms.ts'
import type { ConversationService, Jurisdiction, Location } from '../../contract/conversation.ts'
import { isObject } from '../../contract/json.ts'
import { hiddenConversation, jurisdictionOf, objectName } from '../../contract/placement.ts'
import { RateWindow } from '../../contract/rate-window.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import type { Report, Setup } from '../../contract/setup.ts'
import { isDamage, isLoss, messageOf } from '../../contract/thrown.ts'
import { pause } from '../../contract/time-limit.ts'
import { Problem } from '../problem.ts'
import type { EdgeContext } from '../request-context.ts'

/**
 * Returns the Durable Object of a conversation; each tenant has its own. The id names the jurisdiction, so that the id
 * alone is enough to find the object. `location`: the preferred region of an object that does not exist yet. Default:
 * that of the caller's key. Throws a Problem 403 if the caller's key has another jurisdiction.
 */
export function conversationStub(
  { setup, caller }: EdgeContext,
  conversation: string,
  location?: Location,
): ConversationService {
  const terms = termsOfCaller(setup, caller)
  const jurisdiction = jurisdictionOf(conversation)
  if (terms?.jurisdiction && terms.jurisdiction !== jurisdiction) throw otherJurisdiction(terms.jurisdiction)
  const namespace = namespaceIn(setup, jurisdiction)
  const name = objectName(caller.tenant, conversation)
  const locationHint = location ?? terms?.location
  const stub = () =>
    locationHint === undefined ? namespace.getByName(name) : namespace.getByName(name, { locationHint })
  return limitGuesses({ setup, caller }, name, stub)
}

function otherJurisdiction(jurisdiction: Jurisdiction): Problem {
  return new Problem({
    status: 403,
    code: 'other_jurisdiction',
    message: `This key may only use conversations in the jurisdiction "${jurisdiction}", whose ids begin with "${jurisdiction}__".`,
  })
}

function namespaceIn({ conversations }: Setup, jurisdiction?: Jurisdiction): Setup['conversations'] {
  if (jurisdiction === undefined) return conversations
  try {
    const namespace = conversations.jurisdiction?.(jurisdiction)
    if (namespace) return namespace
  } catch {
    // The platform has no jurisdictions, as on a developer's machine.
  }
  const message = `The jurisdiction "${jurisdiction}" is not available on this platform.`
  throw new Problem({ status: 501, code: 'no_such_jurisdiction', message })
}

/** Where a run is stored. Without a `conversation`: in a hidden one that the caller cannot name. */
export interface RunLocation {
  readonly runId: string
  readonly conversation?: string | undefined
}

/** Returns the conversation that stores a run: the caller's or, so that the run can be found again, a hidden one. */
export function conversationStubOfRun(context: EdgeContext, { runId, conversation }: RunLocation): ConversationService {
  const { setup, caller } = context
  return conversationStub(context, conversation ?? hiddenConversation(setup, caller, runId))
}

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
function limitGuesses(
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

/** How often a request is sent to an object that is lost again and again, in all. */
const MOST_ATTEMPTS = 3
const FIRST_PAUSE_MS = 100
/** When a caller may retry, in milliseconds. */
const OVERLOAD_RETRY_MS = 5000
const LOSS_RETRY_MS = 1000

/** The error code of a conversation whose object was lost again and again. */
export const LOST_CODE = 'conversation_lost'

/** The methods that must not be repeated: if an answer is lost, it is unknown whether they took effect. */
const ONCE: ReadonlySet<string> = new Set<keyof ConversationService>(['answer', 'retry'])

/**
 * Calls a method of an object. If the object is lost, another stub is asked, up to three times in all; an overloaded
 * object is not asked again at once. Throws a Problem 503 that says when to retry, or a Problem 500 if what the object
 * stores is damaged. Repeating a request is safe:
 * a start is recognized by the id of its run.
 */
async function reachObject<Result>(method: string, call: () => Promise<Result>, report: Report): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (isDamage(error)) {
        report({ event: 'conversation.damaged', method, detail: messageOf(error) })
        throw damaged()
      }
      const isOverloaded = Object(error).overloaded === true
      if (!isOverloaded && !isLoss(error)) throw error
      const mayRepeat = !ONCE.has(method)
      if (!isOverloaded && mayRepeat && attempt < MOST_ATTEMPTS) {
        await pause(Math.random() * FIRST_PAUSE_MS * 2 ** attempt)
        continue
      }
      report({
        event: isOverloaded ? 'conversation.overloaded' : 'conversation.lost',
        method,
        detail: messageOf(error),
      })
      throw isOverloaded ? overloaded() : lost(mayRepeat)
    }
  }
}

/**
 * Returns the Problem of a request that failed because an object other than a conversation, such as a directory or a
 * catalog, is overloaded or was lost; undefined for any other error. `method`: that of the request. A POST that was lost
 * may have taken effect.
 */
export function objectProblem(error: unknown, method: string): Problem | undefined {
  if (Object(error).overloaded === true) {
    return new Problem({
      status: 503,
      code: 'overloaded',
      message: 'A part of the edge has more requests than it can answer. Send the request again later.',
      retryAfterMs: OVERLOAD_RETRY_MS,
      mayRetry: true,
    })
  }
  if (!isLoss(error)) return undefined
  const mayRetry = method !== 'POST'
  return new Problem({
    status: 503,
    code: 'connection_lost',
    message: mayRetry
      ? 'The connection to a part of the edge was lost. Send the request again.'
      : 'The connection to a part of the edge was lost, perhaps after the request had taken effect.',
    retryAfterMs: LOSS_RETRY_MS,
    mayRetry,
  })
}

function damaged(): Problem {
  return new Problem({
    status: 500,
    code: 'conversation_damaged',
    message:
      'What is stored of this conversation is damaged. `GET …/export` returns what can be read; restore a backup, or delete the conversation.',
    mayRetry: false,
  })
}

function overloaded(): Problem {
  return new Problem({
    status: 503,
    code: 'conversation_overloaded',
    message: 'This conversation has more requests than it can answer. Send the request again later.',
    retryAfterMs: OVERLOAD_RETRY_MS,
    mayRetry: true,
  })
}

function lost(mayRepeat: boolean): Problem {
  return new Problem({
    status: 503,
    code: LOST_CODE,
    message: mayRepeat
      ? 'The connection to this conversation was lost. Send the request again.'
      : 'The connection to this conversation was lost, perhaps after the request had taken effect. Read the run first.',
    retryAfterMs: LOSS_RETRY_MS,
    mayRetry: mayRepeat,
  })
}
