import { isObject } from '../../contract/json.ts'
import { contentText } from '../../contract/message.ts'
import { jsonOrText, shortened } from '../part/text.ts'
import type { CallView, StepView } from '../run/run-view.ts'

/** What a case is made of. */
export interface EvalTurn {
  readonly question: string
  readonly steps: readonly StepView[]
  readonly answer: string
}

/** The most characters of a result, and of the answer, that a case is given. */
const MOST_RESULT = 4000
const MOST_ANSWER = 80

/**
 * Makes a case for `edgecall eval` of a turn: with its calls, those of programs in place of the programs, with their
 * results by tool, and with how its answer begins.
 */
export function evalCase({ question, steps, answer }: EvalTurn): object {
  const calls = steps.flatMap((step) => step.calls).filter(({ isProgram }) => !isProgram)
  const results = Object.fromEntries(calls.flatMap((call) => resultEntry(call)))
  const [line = ''] = answer.split('\n')
  return {
    question,
    calls: calls.map(({ tool, arguments: text }) => {
      const input = jsonOrText(text.trim() || '{}')
      return isObject(input) && Object.keys(input).length > 0 ? { tool, arguments: input } : { tool }
    }),
    ...(Object.keys(results).length > 0 && { results }),
    // The mark at the end of a shortened text stands for no text of the answer.
    ...(line !== '' && { answer: [shortened(line, MOST_ANSWER).replace(/…$/, '').replaceAll('*', '')] }),
  }
}

function resultEntry({ tool, structured, content = [] }: CallView): readonly (readonly [string, unknown])[] {
  const result = structured ?? contentText(content)
  return JSON.stringify(result).length > MOST_RESULT || result === '' ? [] : [[tool, result]]
}
