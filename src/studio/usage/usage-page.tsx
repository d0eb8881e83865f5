import type { JSX } from 'preact'
import { useLoaded } from '../api/loaded.ts'
import { costText, fetchJson, hasScope } from '../api/session.ts'
import { Icon } from '../part/icon.tsx'
import { download } from '../part/download.ts'
import { Empty, Unloaded } from '../part/problem.tsx'
import { visible } from '../../contract/hidden-characters.ts'
import { amount, percent, quantity } from '../part/text.ts'
import { hrefOf } from '../route.ts'
import { countRuns, type RunCounts } from '../runs/run-query.ts'
import { DayChart, type DayColumn } from './day-chart.tsx'
import { ShareTable, shortName, ToolTable, type UsageLine } from './usage-tables.tsx'

interface UsageAnswer {
  readonly from: string
  readonly to: string
  readonly usage: readonly UsageLine[]
}

/** The budget of the key in use, and what is used of it. */
interface KeyBudget {
  readonly key?: string
  readonly tokens?: number
  readonly cost?: number
  readonly budget?: { readonly tokens?: number; readonly cost?: number; readonly per: string }
}

interface LoadedUsage {
  readonly days: UsageAnswer
  readonly models: readonly UsageLine[]
  readonly keys: readonly UsageLine[]
  readonly tools: readonly UsageLine[]
  readonly counts?: RunCounts | undefined
  readonly own?: KeyBudget | undefined
}

const DAY_MS = 86_400_000

/** The ranges of days; the empty one is this month. */
const RANGES: readonly (readonly [range: string, name: string])[] = [
  ['1', 'Today'],
  ['7', '7 days'],
  ['', 'This month'],
  ['90', '90 days'],
]

/** What the tenant's runs used and cost, by day, model, key and tool. */
export function UsagePage({ range = '' }: { readonly range?: string }): JSX.Element {
  const { state, reload } = useLoaded(() => loadUsage(range), [range])
  const { value, error } = state.value
  return (
    <>
      <header class="head">
        <h1>Usage</h1>
        <div class="seg" role="group" aria-label="Days">
          {RANGES.map(([each, name]) => (
            <a
              key={each}
              href={hrefOf({ page: 'usage', range: each })}
              aria-current={each === range ? 'true' : undefined}
            >
              {name}
            </a>
          ))}
        </div>
        <span class="grow" />
        {value && (
          <button type="button" class="btn nophone" onClick={() => saveCsv(value)}>
            Export CSV
          </button>
        )}
      </header>
      <div class="scroll" tabIndex={0}>
        {error !== undefined && <Unloaded error={error} what="The usage" onRetry={reload} />}
        {value && (value.models.length === 0 ? <NoUsage /> : <UsageDetail usage={value} />)}
      </div>
    </>
  )
}

async function loadUsage(range: string): Promise<LoadedUsage> {
  const days = Number(range)
  const from = days > 0 ? `&from=${new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10)}` : ''
  const load = (by: string, more = '') => fetchJson<UsageAnswer>(`/usage?by=${by}${from}${more}`)
  const [byDay, models, keys, byTool] = await Promise.all([
    load('model', '&per=day'),
    load('model'),
    load('key'),
    load('tool'),
  ])
  const mayRead = hasScope('chat')
  const [counts, own] = await Promise.all([
    mayRead ? countRuns(`from=${byDay.from}&to=${byDay.to}`).catch(() => undefined) : undefined,
    mayRead ? fetchJson<KeyBudget>('/usage').catch(() => undefined) : undefined,
  ])
  return { days: byDay, models: models.usage, keys: keys.usage, tools: byTool.usage, counts, own }
}

function NoUsage(): JSX.Element {
  return (
    <Empty
      icon="usage"
      title="Nothing was used in this time"
      text="A run is counted on the day on which it ends, in UTC."
    >
      <a class="btn solid" href={hrefOf({ page: 'chat' })}>
        New chat
      </a>
    </Empty>
  )
}

function UsageDetail({ usage }: { readonly usage: LoadedUsage }): JSX.Element {
  const { days, models, keys } = usage
  const hasPrices = models.some(({ cost }) => cost > 0)
  const top = models.slice(0, 2).map(({ name }) => name)
  return (
    <>
      <Totals usage={usage} />
      <div class="pad stack">
        <div class="cols two">
          {hasPrices && (
            <DayChart
              title="Cost by day and model"
              series={[...top.map(shortName), ...(models.length > 2 ? ['other'] : [])]}
              columns={columnsOf(days, (rows) => [
                ...top.map((name) =>
                  sum(
                    rows.filter((row) => row.name === name),
                    'cost',
                  ),
                ),
                ...(models.length > 2
                  ? [
                      sum(
                        rows.filter(({ name }) => !top.includes(name)),
                        'cost',
                      ),
                    ]
                  : []),
              ])}
              colours={['a', 'b', 'c']}
              format={costText}
            />
          )}
          <DayChart
            title="Tokens by day"
            series={['read from cache', 'sent new', 'written']}
            columns={columnsOf(days, (rows) => [
              sum(rows, 'cachedInputTokens'),
              sum(rows, 'inputTokens') - sum(rows, 'cachedInputTokens'),
              sum(rows, 'outputTokens'),
            ])}
            colours={['b', 'a', 'e']}
            format={amount}
          />
          <ShareTable title="Models" noun="Model" rows={models} hasPrices={hasPrices} count="runs" filter="model" />
          <ShareTable title="Keys" noun="Key" rows={keys} hasPrices={hasPrices} count="runs" filter="key" />
          <ToolTable rows={usage.tools} hasPrices={hasPrices} />
          <Budget own={usage.own} />
        </div>
      </div>
    </>
  )
}

type Figure = 'runs' | 'calls' | 'inputTokens' | 'cachedInputTokens' | 'outputTokens' | 'cost'

function sum(rows: readonly UsageLine[], figure: Figure): number {
  return rows.reduce((total, row) => total + row[figure], 0)
}

/** A column for each day of the range, also for those without usage. */
function columnsOf(
  { from, to, usage }: UsageAnswer,
  parts: (rows: readonly UsageLine[]) => readonly number[],
): DayColumn[] {
  const byDay = Map.groupBy(usage, ({ day = '' }) => day)
  const columns: DayColumn[] = []
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10)
    columns.push({ day, parts: parts(byDay.get(day) ?? []) })
  }
  return columns
}

function Totals({ usage: { models, counts } }: { readonly usage: LoadedUsage }): JSX.Element {
  const [cost, runs] = [sum(models, 'cost'), sum(models, 'runs')]
  const [input, cached, output] = [
    sum(models, 'inputTokens'),
    sum(models, 'cachedInputTokens'),
    sum(models, 'outputTokens'),
  ]
  const failed = counts?.statuses.failed ?? 0
  return (
    <dl class="figures big">
      <div>
        <dt>Cost</dt>
        <dd>
          {cost > 0 ? costText(cost) : '–'}
          <small>{cost > 0 ? 'by the prices of the models' : 'no model has a price: set MODEL_PRICES'}</small>
        </dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd>
          {amount(input + output)}
          <small>{percent(cached, input)} of the input from caches</small>
        </dd>
      </div>
      <div>
        <dt>Runs</dt>
        <dd>
          {runs.toLocaleString('en')}
          <small>
            {cost > 0 && runs > 0
              ? `${costText(cost / runs)} each`
              : `${amount((input + output) / Math.max(1, runs))} tokens each`}
          </small>
        </dd>
      </div>
      {counts && (
        <div>
          <dt>Failed</dt>
          <dd>
            {percent(failed, counts.runs)}
            <small class={failed > 0 ? 'fail' : ''}>
              <a href={hrefOf({ page: 'runs', filter: 'status=failed' })}>{quantity(failed, 'run')} of chats</a>
            </small>
          </dd>
        </div>
      )}
    </dl>
  )
}

/** How much of the budget of the key in use is left. */
function Budget({ own }: { readonly own: KeyBudget | undefined }): JSX.Element {
  const { budget, tokens = 0, cost = 0, key } = own ?? {}
  const parts = [
    budget?.tokens !== undefined && {
      sum: tokens,
      most: budget.tokens,
      text: `${amount(tokens)} of ${amount(budget.tokens)} tokens`,
    },
    budget?.cost !== undefined && {
      sum: cost,
      most: budget.cost,
      text: `${costText(cost)} of ${costText(budget.cost)}`,
    },
  ].filter((each) => each !== false)
  return (
    <section class="panel" aria-label="Budget of this key">
      <header>
        <h2>Budget of this key</h2>
      </header>
      <div class="pad stack2">
        {parts.map(({ sum: used, most, text }) => {
          const isNear = used >= 0.9 * most
          return (
            <p key={text} class={isNear ? 'note wait' : 'note'}>
              <Icon name={isNear ? 'warning' : 'ok'} />
              <span>
                <b>{key === undefined ? 'This key' : visible(key)}</b> has used {percent(used, most)} of its budget of
                the {budget?.per}: {text}.
              </span>
            </p>
          )
        })}
        {parts.length === 0 && (
          <p class="note">
            <Icon name="ok" />
            <span>This key has no budget. Keys can have one of tokens or cost, of a day or a month.</span>
          </p>
        )}
      </div>
    </section>
  )
}

/** Saves all rows, those of models by day, as a table. */
function saveCsv({ days, keys, tools: byTool }: LoadedUsage): void {
  const groups: readonly (readonly [string, readonly UsageLine[]])[] = [
    ['model', days.usage],
    ['key', keys],
    ['tool', byTool],
  ]
  const cell = (value: string | number) =>
    typeof value === 'number' ? String(value) : `"${guarded(value).replaceAll('"', '""')}"`
  const lines = groups.flatMap(([by, rows]) =>
    rows.map(({ day = '', name, runs, calls, inputTokens, cachedInputTokens, outputTokens, cost }) =>
      [by, day, name, runs, calls, inputTokens, cachedInputTokens, outputTokens, cost].map(cell).join(','),
    ),
  )
  const text = ['by,day,name,runs,calls,input_tokens,cached_input_tokens,output_tokens,cost', ...lines].join('\n')
  download(`usage-${days.from}-${days.to}.csv`, new Blob([text], { type: 'text/csv' }))
}

/** A text that a table calculator does not take for a formula. */
function guarded(text: string): string {
  return /^[=+\-@\t]/.test(text) ? `'${text}` : text
}
