import { expect } from 'vitest'
import type { Hook } from '../../../src/contract/hook.ts'
import { type Message, contentText } from '../../../src/contract/message.ts'
import { failure } from '../../../src/contract/tool.ts'
import { ask, play, say, tool } from '../../fixtures/play.ts'
import { type Row, same } from '../rows.ts'
import { namesIn, resultsIn } from '../scene.ts'

/** Skills, and the tools that come with each. */
const SKILLS: Readonly<Record<string, readonly string[]>> = { weather: ['forecast'], money: ['convert', 'clock'] }

const activateSkill = tool('activate_skill', ({ skill_name }) => {
  const name = String(skill_name)
  const names = Object.keys(SKILLS)
  if (names.includes(name)) return `Skill ${name} is active`
  return failure('unknown_skill', `There is no skill with name '${name}'. Available skills: [${names.join(', ')}]`)
})

function active(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => {
    if (message.role !== 'tool' || message.tool !== 'activate_skill' || !message.ok) return []
    return [/^Skill (\w+) is active/.exec(contentText(message.content))?.[1] ?? '']
  })
}

/** Offers the tools of the skills that were activated, beside those that are always there. */
const withSkills: Hook = {
  name: 'skills',
  activate: (_, { messages }) => [
    'activate_skill',
    'clock',
    ...active(messages).flatMap((skill) => SKILLS[skill] ?? []),
  ],
}

const skill = (name: string): [string, object] => ['activate_skill', { skill_name: name }]

/** Row 101: tools that come with a skill. */
export const skills: readonly Row[] = [
  {
    row: 101,
    says: 'the tools of a skill are hidden until it is activated, come once each, and an unknown skill is an error',
    verdict: same(async () => {
      const { requests, state } = await play({
        script: [
          ask(['forecast'], skill('cooking')),
          ask(skill('weather')),
          ask(['forecast'], skill('weather'), skill('money')),
          say('Sunny'),
        ],
        tools: [activateSkill, tool('clock')],
        others: [tool('forecast', () => 'Sun'), tool('convert')],
        loop: { hooks: [withSkills] },
      })
      const always = ['activate_skill', 'clock']
      expect(requests.map(namesIn)).toEqual([
        always,
        always,
        [...always, 'forecast'],
        [...always, 'forecast', 'convert'],
      ])
      expect(resultsIn(state.messages)).toEqual([
        'There is no tool "forecast". Call one that is on offer, such as "clock", "activate_skill".',
        "There is no skill with name 'cooking'. Available skills: [weather, money]",
        'Skill weather is active',
        'Sun',
        'Skill weather is active',
        'Skill money is active',
      ])
      const both = await play({
        script: [ask(skill('weather')), say('ok')],
        tools: [activateSkill, tool('clock'), tool('tool_search')],
        others: [tool('forecast')],
        loop: { hooks: [withSkills, { name: 'search', activate: (names) => [...names, 'tool_search'] }] },
      })
      const matches = [...always, 'tool_search']
      expect(both.requests.map(namesIn)).toEqual([matches, [...matches, 'forecast']])
    }),
  },
]
