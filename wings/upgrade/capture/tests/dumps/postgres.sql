--
-- PostgreSQL database dump
--

\restrict x

SET statement_timeout = 0;
SELECT pg_catalog.set_config('search_path', '', false);
CREATE TYPE public.mood AS ENUM (
    'sad',
    'ok'
);
CREATE FUNCTION public.f() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  INSERT INTO public.log VALUES (1);
  RETURN NEW;
END
$$;
CREATE TABLE public.account (
    id integer NOT NULL,
    code uuid NOT NULL,
    name character varying(40),
    mood public.mood DEFAULT 'ok'::public.mood NOT NULL,
    tags text[] NOT NULL,
    balance numeric(12,2) DEFAULT 0 NOT NULL,
    at timestamp without time zone DEFAULT now() NOT NULL,
    seen timestamp(3) with time zone,
    body jsonb,
    is_open boolean
);
CREATE SEQUENCE public.account_id_seq AS integer START WITH 1;
ALTER TABLE public.account OWNER TO me;
CREATE TABLE public.payment (
    id bigint NOT NULL,
    account_id integer NOT NULL,
    "Amount" numeric NOT NULL,
    total numeric GENERATED ALWAYS AS (("Amount" * (2)::numeric)) STORED
);
CREATE TABLE public.visit (
    id bigint NOT NULL,
    account_id integer NOT NULL,
    day date NOT NULL,
    ip inet
);
ALTER TABLE public.visit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.visit_id_seq
    START WITH 1
);
CREATE TABLE public.event (
    id bigint NOT NULL,
    at date NOT NULL
)
PARTITION BY RANGE (at);
CREATE TABLE public.event_2026 (
    id bigint NOT NULL,
    at date NOT NULL
);
ALTER TABLE ONLY public.event ATTACH PARTITION public.event_2026 FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
ALTER TABLE ONLY public.account ALTER COLUMN id SET DEFAULT nextval('public.account_id_seq'::regclass);
SELECT * FROM pg_catalog.pg_restore_relation_stats(
	'version', '180000'::integer,
	'schemaname', 'public',
	'relname', 'account',
	'relpages', '100'::integer,
	'reltuples', '25000'::real,
	'relallvisible', '0'::integer
);
SELECT * FROM pg_catalog.pg_restore_attribute_stats(
	'version', '180000'::integer,
	'schemaname', 'public',
	'relname', 'account',
	'attname', 'name',
	'inherited', 'f'::boolean,
	'null_frac', '0.25'::real,
	'n_distinct', '-1'::real
);
ALTER TABLE ONLY public.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX account_code ON public.account USING btree (code);
ALTER TABLE ONLY public.visit
    ADD CONSTRAINT visit_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
\unrestrict x
