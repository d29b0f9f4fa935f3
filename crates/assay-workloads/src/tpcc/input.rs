//! Inputs of a client's transactions: a pure function of seed, client and event number (clauses 2.4 to 2.8).

use super::draw::{Constants, DISTRICTS, ITEMS, TPCC, between, happens, push_last_name};
use crate::random::{RandomStream, mix, mix_word};

/// Clause 5.2.4.2: the cards of a deck, from which a client draws all before it reshuffles.
const DECK: [(Card, usize); 5] = [
    (Card::NewOrder, 45),
    (Card::Payment, 43),
    (Card::OrderStatus, 4),
    (Card::Delivery, 4),
    (Card::StockLevel, 4),
];
const CARDS: u64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Card {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

/// The input of a transaction. Warehouses, districts, customers and items count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TpccInput {
    /// Clause 2.4.
    NewOrder(NewOrder),
    /// Clause 2.5.
    Payment(Payment),
    /// Clause 2.6.
    OrderStatus { warehouse: u32, district: u32, customer: CustomerKey },
    /// Clause 2.7.
    Delivery { warehouse: u32, carrier: u32 },
    /// Clause 2.8.
    StockLevel {
        warehouse: u32,
        district: u32,
        /// Counts items with less stock than this.
        threshold: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CustomerKey {
    Id(u32),
    /// The middle one of those with a last name, in the order of their first names.
    Name(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrder {
    pub warehouse: u32,
    pub district: u32,
    pub customer: u32,
    /// Sorted by item, so that clients lock stock in the same order.
    pub lines: Vec<OrderLine>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderLine {
    pub item: u32,
    pub supply: u32,
    pub quantity: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    pub warehouse: u32,
    pub district: u32,
    pub customer_warehouse: u32,
    pub customer_district: u32,
    pub customer: CustomerKey,
    pub cents: u32,
}

impl NewOrder {
    pub fn is_local(&self) -> bool {
        self.lines.iter().all(|line| line.supply == self.warehouse)
    }

    /// Whether it has a nonexistent item, so that it is rolled back.
    pub fn rolls_back(&self) -> bool {
        self.lines.last().is_some_and(|line| line.item > ITEMS)
    }

    /// The lines as arguments of the stored procedures: six digits for the item, six for the warehouse, two for the
    /// quantity.
    pub fn packed(&self) -> String {
        let line = |it: &OrderLine| format!("{:06}{:06}{:02}", it.item, it.supply, it.quantity);
        self.lines.iter().map(line).collect()
    }
}

#[derive(Debug, Clone)]
pub struct TpccClient {
    key: u64,
    constants: Constants,
    warehouses: u32,
    warehouse: u32,
    district: u32,
    deck: (u64, Vec<Card>),
}

impl TpccClient {
    /// `number` counts from 0. Clients are spread over the warehouses, and those of a warehouse over its districts.
    pub fn new(seed: u64, warehouses: u32, number: u32) -> Self {
        let warehouses = warehouses.max(1);
        let key = mix(mix_word(seed, TPCC), number.into());
        Self {
            key,
            constants: Constants::new(seed),
            warehouses,
            warehouse: number % warehouses + 1,
            district: number / warehouses % DISTRICTS + 1,
            deck: (0, deck(key, 0)),
        }
    }

    /// A retried event has the same input.
    pub fn input(&mut self, sequence: u64) -> TpccInput {
        let card = self.card(sequence);
        let mut stream = RandomStream::new(mix(self.key, sequence));
        let stream = &mut stream;
        let warehouse = self.warehouse;
        match card {
            Card::NewOrder => TpccInput::NewOrder(self.new_order(stream)),
            Card::Payment => TpccInput::Payment(self.payment(stream)),
            Card::OrderStatus => TpccInput::OrderStatus {
                warehouse,
                district: district(stream),
                customer: self.customer(stream),
            },
            Card::Delivery => {
                TpccInput::Delivery { warehouse, carrier: between(stream, 1, 10) as u32 }
            }
            Card::StockLevel => TpccInput::StockLevel {
                warehouse,
                district: self.district,
                threshold: between(stream, 10, 20) as u32,
            },
        }
    }

    /// Keying time before a transaction, and a random think time after it, seconds (clause 5.2.5.7).
    pub fn pauses(&self, sequence: u64, input: &TpccInput) -> (f64, f64) {
        let (keying, thinking) = match input {
            TpccInput::NewOrder(_) => (18.0, 12.0),
            TpccInput::Payment(_) => (3.0, 12.0),
            TpccInput::OrderStatus { .. } => (2.0, 10.0),
            TpccInput::Delivery { .. } | TpccInput::StockLevel { .. } => (2.0, 5.0),
        };
        let unit = RandomStream::new(mix(mix_word(self.key, "think"), sequence)).unit();
        // Clause 5.2.5.4: exponential, cut off at ten times the mean.
        (keying, thinking * (-(1.0 - unit).ln()).min(10.0))
    }

    fn card(&mut self, sequence: u64) -> Card {
        let (number, place) = (sequence / CARDS, (sequence % CARDS) as usize);
        if self.deck.0 != number {
            self.deck = (number, deck(self.key, number));
        }
        self.deck.1[place]
    }

    fn new_order(&self, stream: &mut RandomStream) -> NewOrder {
        let district = district(stream);
        let customer = self.constants.customer(stream);
        let count = between(stream, 5, 15);
        let rolls_back = happens(stream, 1);
        let mut lines: Vec<OrderLine> = Vec::with_capacity(count as usize);
        for number in 1..=count {
            let item = self.constants.item(stream);
            let is_remote = self.warehouses > 1 && happens(stream, 1);
            let supply = if is_remote { self.other_warehouse(stream) } else { self.warehouse };
            let quantity = between(stream, 1, 10) as u32;
            // Clause 2.4.1.5: the last item does not exist.
            let item = if rolls_back && number == count { ITEMS + 1 } else { item };
            lines.push(OrderLine { item, supply, quantity });
        }
        lines.sort_unstable();
        NewOrder { warehouse: self.warehouse, district, customer, lines }
    }

    fn payment(&self, stream: &mut RandomStream) -> Payment {
        let paid_in = district(stream);
        let is_remote = self.warehouses > 1 && happens(stream, 15);
        let (customer_warehouse, customer_district) = match is_remote {
            true => (self.other_warehouse(stream), district(stream)),
            false => (self.warehouse, paid_in),
        };
        Payment {
            warehouse: self.warehouse,
            district: paid_in,
            customer_warehouse,
            customer_district,
            customer: self.customer(stream),
            cents: between(stream, 100, 500_000) as u32,
        }
    }

    /// A customer, by last name in three of five cases.
    fn customer(&self, stream: &mut RandomStream) -> CustomerKey {
        if !happens(stream, 60) {
            return CustomerKey::Id(self.constants.customer(stream));
        }
        let mut name = Vec::new();
        push_last_name(Constants::last_name(stream, self.constants.name), &mut name);
        CustomerKey::Name(name)
    }

    fn other_warehouse(&self, stream: &mut RandomStream) -> u32 {
        let drawn = between(stream, 1, u64::from(self.warehouses.max(2)) - 1) as u32;
        if drawn < self.warehouse { drawn } else { drawn + 1 }
    }
}

fn district(stream: &mut RandomStream) -> u32 {
    between(stream, 1, DISTRICTS.into()) as u32
}

fn deck(key: u64, number: u64) -> Vec<Card> {
    let mut stream = RandomStream::new(mix(mix_word(key, "deck"), number));
    let mut cards: Vec<Card> =
        DECK.iter().flat_map(|(card, count)| std::iter::repeat_n(*card, *count)).collect();
    for last in (1..cards.len()).rev() {
        cards.swap(last, stream.below(last as u64 + 1) as usize);
    }
    cards
}

impl TpccInput {
    /// Text form that does not depend on names in the code.
    pub fn words(&self) -> String {
        let key = |customer: &CustomerKey| match customer {
            CustomerKey::Id(id) => id.to_string(),
            CustomerKey::Name(name) => String::from_utf8_lossy(name).into_owned(),
        };
        match self {
            Self::NewOrder(it) => {
                format!("order {} {} {} {}", it.warehouse, it.district, it.customer, it.packed())
            }
            Self::Payment(it) => format!(
                "payment {} {} {} {} {} {}",
                it.warehouse,
                it.district,
                it.customer_warehouse,
                it.customer_district,
                key(&it.customer),
                it.cents
            ),
            Self::OrderStatus { warehouse, district, customer } => {
                format!("status {warehouse} {district} {}", key(customer))
            }
            Self::Delivery { warehouse, carrier } => format!("delivery {warehouse} {carrier}"),
            Self::StockLevel { warehouse, district, threshold } => {
                format!("level {warehouse} {district} {threshold}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(warehouses: u32, number: u32, count: u64) -> Vec<TpccInput> {
        let mut client = TpccClient::new(1, warehouses, number);
        (0..count).map(|sequence| client.input(sequence)).collect()
    }

    #[test]
    fn a_deck_has_the_mix_of_the_specification() {
        let inputs = inputs(1, 3, 100);
        let count =
            |is_kind: fn(&TpccInput) -> bool| inputs.iter().filter(|it| is_kind(it)).count();
        assert_eq!(count(|it| matches!(it, TpccInput::NewOrder(_))), 45);
        assert_eq!(count(|it| matches!(it, TpccInput::Payment(_))), 43);
        assert_eq!(count(|it| matches!(it, TpccInput::OrderStatus { .. })), 4);
        assert_eq!(count(|it| matches!(it, TpccInput::Delivery { .. })), 4);
        assert_eq!(count(|it| matches!(it, TpccInput::StockLevel { .. })), 4);
    }

    #[test]
    fn an_event_does_not_depend_on_those_before() {
        let all = inputs(4, 2, 500);
        let mut client = TpccClient::new(1, 4, 2);
        for sequence in [499, 3, 250] {
            assert_eq!(client.input(sequence), all[sequence as usize]);
        }
        assert_ne!(inputs(4, 2, 20), inputs(4, 6, 20));
    }

    #[test]
    fn shares_are_those_of_the_specification() {
        let all = inputs(3, 1, 40_000);
        let orders: Vec<&NewOrder> = all
            .iter()
            .filter_map(|it| if let TpccInput::NewOrder(it) = it { Some(it) } else { None })
            .collect();
        let payments: Vec<&Payment> = all
            .iter()
            .filter_map(|it| if let TpccInput::Payment(it) = it { Some(it) } else { None })
            .collect();
        let share = |part: usize, whole: usize| part as f64 / whole as f64;
        let rolled = share(orders.iter().filter(|it| it.rolls_back()).count(), orders.len());
        assert!((0.007..0.013).contains(&rolled), "{rolled}");
        let lines: usize = orders.iter().map(|it| it.lines.len()).sum();
        assert!((9.9..10.1).contains(&share(lines, orders.len())));
        let remote = orders.iter().flat_map(|it| &it.lines).filter(|line| line.supply != 2).count();
        assert!((0.008..0.012).contains(&share(remote, lines)), "{remote} of {lines}");
        let away =
            share(payments.iter().filter(|it| it.customer_warehouse != 2).count(), payments.len());
        assert!((0.14..0.16).contains(&away), "{away}");
        let named =
            payments.iter().filter(|it| matches!(it.customer, CustomerKey::Name(_))).count();
        assert!((0.58..0.62).contains(&share(named, payments.len())));
        assert!(orders.iter().all(|it| it.lines.is_sorted() && it.warehouse == 2));
    }

    #[test]
    fn one_warehouse_supplies_everything() {
        for input in inputs(1, 5, 5000) {
            match input {
                TpccInput::NewOrder(order) => assert!(order.is_local()),
                TpccInput::Payment(payment) => assert_eq!(payment.customer_warehouse, 1),
                _ => {}
            }
        }
    }

    #[test]
    fn lines_are_packed_in_fixed_widths() {
        let lines = vec![
            OrderLine { item: 7, supply: 1, quantity: 3 },
            OrderLine { item: 100_001, supply: 12, quantity: 10 },
        ];
        let order = NewOrder { warehouse: 1, district: 1, customer: 1, lines };
        assert_eq!(order.packed(), "0000070000010310000100001210");
        assert!(order.rolls_back() && !order.is_local());
    }
}
