/** A page of the stand-in: made-up news. Its date is relative to the day of the request. */
export interface Article {
  readonly slug: string
  readonly title: string
  /** The number of days since publication. */
  readonly age: number
  /** Search words in addition to those of the text. */
  readonly tags: string
  readonly paragraphs: readonly [string, ...string[]]
}

const AI = 'ai artificial intelligence news technology 人工智能 新闻 科技'

export const ARTICLES: readonly Article[] = [
  {
    slug: 'open-weights',
    title: 'Fjordlab opens the weights of its language model',
    age: 0,
    tags: AI,
    paragraphs: [
      'The research house Fjordlab has published the weights of Skerry, a language model that runs on a laptop.',
      'The licence allows commercial use. Fjordlab says that the data it was trained on will be described in a report ' +
        'next month.',
    ],
  },
  {
    slug: 'tool-calls',
    title: 'Study: assistants that use tools make fewer mistakes in sums',
    age: 1,
    tags: `${AI} research science`,
    paragraphs: [
      'Assistants that hand arithmetic to a calculator were right in 98 of 100 cases, those that did it by themselves in 71.',
      'The authors put 4,000 questions to twelve models. What helped most was a description that said when to use a tool.',
    ],
  },
  {
    slug: 'chip-power',
    title: 'New chip halves the power that AI models need',
    age: 2,
    tags: `${AI} hardware energy chips`,
    paragraphs: [
      'The start-up Korund has shown a chip that needs half the power of its predecessor for the same answers.',
      'It keeps a model’s weights beside the arithmetic, so that less has to be moved. First boards ship in spring.',
    ],
  },
  {
    slug: 'hospital-letters',
    title: 'Hospitals let AI draft letters, and doctors sign them',
    age: 4,
    tags: `${AI} health medicine`,
    paragraphs: [
      'Nine hospitals have drafts of discharge letters written by a model; a doctor reads and signs each one.',
      'A letter takes four minutes instead of eleven, the hospitals say. One draft in twenty is thrown away.',
    ],
  },
  {
    slug: 'ai-rules',
    title: 'Cities agree on rules for AI in their offices',
    age: 6,
    tags: `${AI} politics law`,
    paragraphs: [
      'Thirty cities want to say in public where they use AI, and to have a person decide wherever money is refused.',
      'The rules bind nobody yet. A first report on them is due in a year.',
    ],
  },
  {
    slug: 'comet',
    title: 'A comet will be seen with the naked eye next month',
    age: 1,
    tags: 'news space science astronomy 新闻 天文 科学',
    paragraphs: [
      'Comet Aldous stands low in the west after sunset and is brightest in the first week of the month.',
      'Binoculars show its tail. It comes back in 2,300 years.',
    ],
  },
  {
    slug: 'football',
    title: 'Harbour City win the cup in the last minute',
    age: 0,
    tags: 'news sport sports football soccer 新闻 体育 足球',
    paragraphs: [
      'A header in the 94th minute decided the final: Harbour City beat Northgate by two goals to one.',
      'It is their first cup in 31 years.',
    ],
  },
  {
    slug: 'sourdough',
    title: 'Sourdough bread: a recipe for beginners',
    age: 40,
    tags: 'food cooking baking recipe bread 食谱 面包',
    paragraphs: [
      'Mix 500 g of flour, 350 g of water, 100 g of active starter and 10 g of salt; let the dough rest overnight.',
      'Fold it, shape it, let it rise for two hours, and bake it for 45 minutes at 230 °C.',
    ],
  },
]
