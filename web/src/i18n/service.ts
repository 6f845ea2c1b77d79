/** What the service says in English, in Chinese: by the stable code that comes with the sentence.

In English its own words are shown, as everywhere else. A code that is not here is shown in them too.
`{detail}` is what the sentence names after its last colon.
*/
import type { Language, Values } from ".";

const CHINESE: Readonly<Record<string, string>> = {
  "reason.absent": "{name} 已不在目录中。请安装提供它的插件或版本；其设置仍保留。",
  "reason.plugin_broken": "{name} 所属的插件未能加载。请查看“插件”页的错误，修复后重启。",
  "reason.unknown_agent": "该智能体不存在，因此不能使用任何工具。请先创建它。",
  "reason.disabled_global": "管理员已停用 {name}。打开左侧开关即可启用。",
  "reason.disabled_toolset": "管理员已停用 {name} 所属的工具集。请启用该工具集。",
  "reason.not_selected": "{name} 不在此智能体的可用范围内。请将其单独设为“启用”。",
  "reason.disabled_agent": "{name} 已对此智能体停用。请更改其单独设置。",
  "reason.subagent_not_allowed": "{name} 不供子智能体使用，请由智能体自身调用。",
  "reason.subagent_depth": "{name} 会启动子智能体，而此子智能体不可再委派。",
  "reason.subagent_not_given": "{name} 不在分配给此子智能体的工具中。",
  "reason.subagent_read_only": "{name} 可能更改内容，而子智能体仅可读取。",
  "reason.subagent_no_shell": "{name} 会运行命令，而子智能体不可使用 shell。",
  "reason.missing_config": "{name} 缺少配置：{detail}。请补全配置。",
  "reason.missing_program":
    "{name} 所需的程序未安装：{detail}。请安装到命令可找到的位置（如 /usr/local/bin）后重启。",
  "reason.no_sandbox": "{name} 缺少足够的沙箱隔离：{detail}。请查看“诊断”页。",
  "reason.platform": "{name} 不支持当前平台。",
};

/** What the doctor looks at: by the name of the check, or its first word; what it is called, and why. */
const CHECKS: Readonly<Record<string, readonly [string, string]>> = {
  python: ["Python", "运行服务"],
  sqlite: ["SQLite", "保存会话、事件和管控设置"],
  package: ["软件包 {rest}", "服务所需的软件包"],
  "data directory": ["数据目录", "存放数据库、产物和默认工作区"],
  "disk space": ["磁盘空间", "空间不足时无法记录，有副作用的工具将被拒绝"],
  database: ["数据库", "数据库的结构版本"],
  "model key": ["模型密钥", "与模型对话需要它；仅用工具则不需要"],
  tokens: ["访问令牌", "请求凭此获准进入"],
  "open house": ["免登录模式", "本机的任何用户和程序均可进入"],
  plugins: ["插件", "此安装的工具和钩子"],
  hook: ["钩子 {rest}", "检查每次调用的代码"],
  sandbox: ["沙箱 {rest}", "工具启动的程序如何被隔离"],
  layer: ["隔离层 {rest}", "沙箱的一层防护"],
  Landlock: ["Landlock", "内核支持的版本"],
  openat2: ["openat2", "使文件工具不越出工作区；缺少时逐级检查路径"],
  program: ["程序 {rest}", "命令或工具会用到"],
  "SQLite FTS5": ["SQLite FTS5", "用于查找记忆"],
  "image provider": ["图像服务", "为 text_to_image 和 image_to_image 生成图像"],
  "search engine": ["搜索引擎", "为 web_search 提供结果"],
  weather: ["天气服务", "为 get_weather 提供结果"],
  "key of data sources": ["数据源密钥", "加密数据源的密码；丢失则密码无法恢复"],
  "SQLite folder": ["SQLite 目录", "其中的文件可作为数据源"],
  tools: ["工具", "哪些工具已启用"],
  tool: ["工具 {rest}", "该工具当前不可用，原因见“工具”页"],
  address: ["地址", "服务监听的地址"],
};

interface Told {
  name: string;
  meaning: string;
}

/** The name of a doctor's check and what it is for, in the reader's language. */
export function checked(language: Language, check: Told): Told {
  if (language !== "zh") return check;
  const [first = "", ...others] = check.name.split(" ");
  const pair = CHECKS[check.name] ?? CHECKS[first];
  if (pair === undefined) return check;
  return { name: pair[0].replace("{rest}", others.join(" ")), meaning: pair[1] };
}

/** The sentence in the reader's language. */
export function spoken(language: Language, code: string, english: string, values: Values): string {
  const template = language === "zh" ? CHINESE[code] : undefined;
  if (template === undefined) return english;
  const colon = english.lastIndexOf(": ");
  const told = { detail: colon < 0 ? "–" : english.slice(colon + 2), ...values };
  return template.replace(/\{(\w+)\}/g, (whole, name: string) =>
    String((told as Values)[name] ?? whole),
  );
}
