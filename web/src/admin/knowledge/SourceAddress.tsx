/** Where a database is and how to sign in. A stored password is never shown; it is sent anew. */
import { Checkbox, NativeSelect, NumberInput, PasswordInput, TextInput } from "@mantine/core";
import type { Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { type Digits, numberOf, textOf, useFields } from "../parts/fields";

export type Source = Schemas["AdminSource"];
type Change = Schemas["SourceChange"];
export type Kind = Source["kind"];

export const PORTS: Record<Kind, number | null> = { mysql: 3306, postgres: 5432, sqlite: null };

export function useAddress(source: Source | null) {
  return useFields({
    name: source?.name ?? "",
    by: source?.unix_socket == null ? "host" : "socket",
    host: source?.host ?? "",
    port: (source?.port ?? "") as Digits,
    socket: source?.unix_socket ?? "",
    database: source?.database ?? "",
    file: source?.file ?? "",
    user: source?.user ?? "",
    password: "",
    forget: false,
    tls: (source?.tls ?? "verify") as string,
    ca: source?.tls_ca_file ?? "",
  });
}

type Address = ReturnType<typeof useAddress>;

/** What is sent: nothing that another kind of database has. */
export function addressOf(kind: Kind, { fields }: Address): Change {
  const name = fields.name.trim();
  if (kind === "sqlite") return { name, file: textOf(fields.file) };
  const viaSocket = fields.by === "socket";
  return {
    name,
    host: viaSocket ? null : textOf(fields.host),
    port: viaSocket ? null : numberOf(fields.port),
    unix_socket: viaSocket ? textOf(fields.socket) : null,
    database: textOf(fields.database),
    user: textOf(fields.user),
    tls: fields.tls as Source["tls"],
    tls_ca_file: textOf(fields.ca),
    ...(fields.forget ? { password: "" } : {}),
    ...(fields.password === "" ? {} : { password: fields.password }),
  };
}

interface Props {
  kind: Kind;
  address: Address;
  /** Whether a password is stored already. */
  hasPassword?: boolean;
}

export function AddressFields({ kind, address, hasPassword = false }: Props) {
  const { t } = useTexts();
  const { fields, text, digits, tick } = address;
  const name = <TextInput label={t("field.name")} required maxLength={100} {...text("name")} />;
  if (kind === "sqlite") {
    return (
      <>
        {name}
        <TextInput
          label={t("sources.file")}
          description={t("sources.file.help")}
          required
          {...text("file")}
        />
      </>
    );
  }
  return (
    <>
      {name}
      <NativeSelect
        label={t("sources.by")}
        {...text("by")}
        data={[
          { value: "host", label: t("sources.by.host") },
          { value: "socket", label: t("sources.by.socket") },
        ]}
      />
      {fields.by === "host" ? (
        <>
          <TextInput label={t("sources.host")} required {...text("host")} />
          <NumberInput
            label={t("sources.port")}
            placeholder={String(PORTS[kind])}
            min={1}
            max={65535}
            allowDecimal={false}
            hideControls
            {...digits("port")}
          />
        </>
      ) : (
        <TextInput
          label={t("sources.socket")}
          description={t("sources.socket.help")}
          required
          {...text("socket")}
        />
      )}
      <TextInput
        label={t("sources.database")}
        required={kind === "postgres"}
        {...text("database")}
      />
      <TextInput
        label={t("sources.user")}
        description={t("sources.user.help")}
        required
        autoComplete="off"
        {...text("user")}
      />
      <PasswordInput
        label={t("sources.password")}
        description={t(hasPassword ? "sources.password.stored" : "sources.password.help")}
        autoComplete="new-password"
        disabled={fields.forget}
        visibilityToggleButtonProps={{ "aria-label": t("sources.password.show") }}
        {...text("password")}
      />
      {hasPassword && <Checkbox label={t("sources.password.forget")} {...tick("forget")} />}
      <NativeSelect
        label={t("sources.tls")}
        {...text("tls")}
        data={(["verify", "require", "off"] as const).map((value) => ({
          value,
          label: t(`sources.tls.${value}`),
        }))}
      />
      <TextInput label={t("sources.ca")} description={t("sources.ca.help")} {...text("ca")} />
    </>
  );
}
